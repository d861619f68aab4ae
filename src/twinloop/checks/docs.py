"""Pages of docs/rules from the rules' docstrings: ``python -m twinloop.checks.docs docs/rules``."""

from __future__ import annotations

import sys
from pathlib import Path

from twinloop.checks.catalog import built_in_rules
from twinloop.checks.rule import Rule, limit_names

_FAMILIES = {
    "STR": "structure: is everything there, and is it what it claims to be",
    "TIM": "time: do the samples of a stream come when they should",
    "SYN": "synchrony: do streams fit together in time",
    "SIG": "signals: are the numbers those of a working sensor",
    "VID": "video: do images and rows belong together",
    "LAB": "labels: do statements about spans fit their spans, each other and the video",
    "EPI": "episodes: is an episode worth learning from",
}


def rule_page(rule: Rule) -> str:
    """The page of one rule, as Markdown."""
    documentation = rule.documentation
    needs = ", ".join(need.value for need in rule.needs) or "nothing beyond the recording"
    lines = [
        f"# {rule.code} {rule.name}",
        "",
        documentation.summary,
        "",
        "| severity | looks at | needs | since |",
        "|---|---|---|---|",
        f"| {rule.severity.value} | one {rule.scope.value} | {needs} | {rule.since} |",
    ]
    for heading, body in documentation.sections.items():
        lines += ["", f"## {heading}", "", body]
        if heading == "Tuning" and (limits := limit_names(rule.limits)):
            lines += ["", "```toml", f"[{rule.code}]  # in a profile, with the default values"]
            lines += [f"{name} = {str(value).lower()}" for name, value in limits.items()]
            lines += ["```"]
    return "\n".join(lines) + "\n"


def index_page(rules: tuple[Rule, ...]) -> str:
    """The table of all rules, as Markdown."""
    lines = [
        "# Rules",
        "",
        "Made from the rules' docstrings by `python -m twinloop.checks.docs docs/rules`; do not edit by hand.",
        "A severity is that of most findings of a rule; its page says when it is another.",
    ]
    family = ""
    for rule in rules:
        if rule.family != family:
            family = rule.family
            lines += ["", f"## {family} {_FAMILIES.get(family, '')}".rstrip(), ""]
            lines += ["| code | name | severity | |", "|---|---|---|---|"]
        summary = rule.documentation.summary
        lines.append(f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity.value} | {summary} |")
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    rules = built_in_rules()
    return {"README.md": index_page(rules)} | {f"{rule.code}.md": rule_page(rule) for rule in rules}


def write_pages(folder: Path) -> int:
    """Write all pages, and take away those of rules that are gone; how many were written."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for old in folder.glob("*.md"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    return len(made)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m twinloop.checks.docs FOLDER")
    sys.stdout.write(f"{write_pages(Path(sys.argv[1]))} pages in {sys.argv[1]}\n")
