"use strict";
// Searches and zooms the flame graphs of a page. The page is also XML, so this text has neither ampersands nor "less than".
for (const figure of document.querySelectorAll(".flame")) {
  const [search, whole, found] = ["input", "button", "output"].map((tag) => figure.querySelector(tag));
  const frames = [...figure.querySelectorAll("svg svg")].map((node) => {
    const [from, width] = ["x", "width"].map((name) => parseFloat(node.getAttribute(name)));
    return { node, from, width, end: from + width, name: node.querySelector("text").textContent.toLowerCase() };
  });
  const slack = 0.0005;
  let hits = [];
  let next = 0;

  // Shows this frame, what it called, and its callers.
  const zoom = (of) => {
    for (const { node, from, end, width } of frames) {
      const within = from + slack >= of.from ? of.end + slack >= end : false;
      const around = of.from + slack >= from ? end + slack >= of.end : false;
      node.classList.toggle("out", !within ? !around : false);
      node.setAttribute("x", within ? `${(100 * (from - of.from)) / of.width}%` : "0%");
      node.setAttribute("width", within ? `${(100 * width) / of.width}%` : "100%");
    }
  };

  const find = () => {
    const words = search.value.toLowerCase();
    hits = words ? frames.filter((frame) => frame.name.includes(words)) : [];
    next = 0;
    for (const frame of frames) frame.node.classList.toggle("hit", hits.includes(frame));
    figure.classList.toggle("searched", words !== "");
    // A function that called itself counts once.
    let [share, end] = [0, 0];
    for (const frame of [...hits].sort((a, b) => a.from - b.from)) {
      share += Math.max(0, frame.end - Math.max(frame.from, end));
      end = Math.max(end, frame.end);
    }
    found.textContent = words ? `${hits.length} frames, ${share.toFixed(1)} % of the samples` : "";
  };

  for (const frame of frames) frame.node.addEventListener("click", () => zoom(frame));
  whole.addEventListener("click", () => {
    search.value = "";
    find();
    zoom(frames[0]);
  });
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    if (hits.length === 0) return;
    zoom(hits[next % hits.length]);
    next += 1;
  });
  figure.querySelector(".controls").hidden = false;
}
