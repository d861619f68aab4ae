"""The templates that a decoder keeps between buffers, by message length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from twinloop.formats.ros.encapsulation import HEADER_BYTES
from twinloop.formats.ros.template import has_templates, template_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from twinloop.formats.ros.plan import Plan
    from twinloop.formats.ros.rows import Rows
    from twinloop.formats.ros.template import Template
    from twinloop.formats.ros.vocabulary import Vocabulary
    from twinloop.formats.ros.walk import Walk

    Ints = NDArray[np.int64]

#: Lengths that templates are kept for, templates of one length, and templates made after one walk.
MAX_LENGTHS = 32
MAX_OF_LENGTH = 8
_MADE_AT_ONCE = 4
#: So many templates are made in any case; then only while each recognised so many messages on average.
_FREE_TEMPLATES = 16
_WORTHWHILE = 32


class KnownLayouts:
    """Recognises messages laid out like earlier ones."""

    def __init__(self, plan: Plan) -> None:
        self._has_templates = has_templates(plan)
        self._any_length = plan.has_blobs
        self._before = HEADER_BYTES if plan.aligned else 0
        self._by_length: dict[int, list[Template]] = {}
        self._made = 0
        self._recognised = 0

    def rows(
        self,
        buffer: NDArray[np.uint8],
        offset: Ints,
        length: Ints,
        who: Ints,
        vocabularies: dict[int, Vocabulary],
    ) -> tuple[list[Rows], Ints]:
        """The values of the messages that are recognised, a template at a time; and the other messages.

        Args:
            who: numbers of the messages to look at, ascending.
        """
        groups: list[Rows] = []
        unknown = []
        for key, templates in self._by_length.items():
            if not len(who):
                break
            mine = length[who] == key
            if self._any_length or mine.all():
                candidates, who = who, who[:0]
            else:
                candidates, who = who[mine], who[~mine]
            for template in templates:
                if not len(candidates):
                    break
                candidates = self._try(template, buffer, offset, length, candidates, vocabularies, groups)
            unknown.append(candidates)
        self._recognised += sum(map(len, groups))
        return groups, np.sort(np.concatenate([*unknown, who]))

    def _try(
        self,
        template: Template,
        buffer: NDArray[np.uint8],
        offset: Ints,
        length: Ints,
        who: Ints,
        vocabularies: dict[int, Vocabulary],
        groups: list[Rows],
    ) -> Ints:
        """Adds the messages that a template recognises to `groups`; returns the others, ascending."""
        others = [who[:0]]
        if self._any_length and (short := length[who] < template.length).any():
            others, who = [who[short]], who[~short]
        if not len(who):
            return others[0]
        starts = offset[who]
        fits, same_texts = template.compare(buffer, starts, length[who])
        if fits is not None:
            others.append(who[~fits])
            who, starts = who[fits], starts[fits]
        if len(who):
            groups.append(template.rows(buffer, starts, who, vocabularies, same_texts=same_texts))
        return np.sort(np.concatenate(others))

    def learn(self, walk: Walk) -> None:
        """Keeps the layouts of some messages that had to be walked."""
        good = np.flatnonzero(walk.alive)
        if not self._has_templates or not len(good):
            return
        for message in self._examples(good, walk.end[good] - walk.origin[good]):
            if self._made >= _FREE_TEMPLATES and self._recognised < _WORTHWHILE * self._made:
                return
            self._made += 1
            template = template_of(walk, message, self._before)
            if template is not None:
                self._keep(template)

    def _examples(self, good: Ints, length: Ints) -> Iterable[int]:
        """Messages whose layouts are likely to come again: one of each of the most frequent lengths."""
        if self._any_length or len(good) == 1:
            return (int(good[0]),)
        _, first, count = np.unique(length, return_index=True, return_counts=True)
        often = np.argsort(-count, kind="stable")[:_MADE_AT_ONCE]
        return good[first[often[count[often] > 1]]].tolist()

    def _keep(self, template: Template) -> None:
        key = 0 if self._any_length else template.length
        templates = self._by_length.setdefault(key, [])
        templates.append(template)
        if len(templates) > MAX_OF_LENGTH:
            del templates[0]
        if len(self._by_length) > MAX_LENGTHS:
            del self._by_length[next(iter(self._by_length))]
