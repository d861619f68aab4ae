// Hovering over the timeline shows the time and the stream under the pointer. The page says all without it.
for (const drawing of document.querySelectorAll("svg.timeline")) {
  const ns = "http://www.w3.org/2000/svg";
  const line = document.createElementNS(ns, "line");
  const label = document.createElementNS(ns, "text");
  line.setAttribute("class", "cursor");
  label.setAttribute("class", "cursor");
  drawing.append(line, label);
  const hide = () => { line.style.display = label.style.display = "none"; };
  const number = (block, key) => Number(block.dataset[key]);
  hide();
  drawing.addEventListener("pointerleave", hide);
  drawing.addEventListener("pointermove", (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
    const block = [...drawing.querySelectorAll(".block")].find(
      (b) => point.y >= number(b, "top") && point.y <= number(b, "bottom"),
    );
    if (!block || point.x < number(block, "left") || point.x > number(block, "right")) return hide();
    const share = (point.x - number(block, "left")) / (number(block, "right") - number(block, "left"));
    line.setAttribute("x1", point.x);
    line.setAttribute("x2", point.x);
    line.setAttribute("y1", number(block, "top"));
    line.setAttribute("y2", number(block, "bottom"));
    label.textContent = `${(share * number(block, "seconds")).toFixed(3)} s`;
    const left = share > 0.9;
    label.setAttribute("x", point.x + (left ? -5 : 5));
    label.setAttribute("text-anchor", left ? "end" : "start");
    label.setAttribute("y", number(block, "bottom") - 4);
    line.style.display = label.style.display = "";
  });
}
