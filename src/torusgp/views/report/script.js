
"use strict";
// Without this script the page is complete: sections one after the other, every target below the last.

// Tabs: links to sections become tabs, of which one is shown.
(function () {
  const nav = document.getElementById("tabs");
  const tabs = Array.from(nav.querySelectorAll("a"));
  const panels = tabs.map((tab) => document.getElementById(tab.hash.slice(1)));
  nav.setAttribute("role", "tablist");
  tabs.forEach((tab, i) => {
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panels[i].id);
    panels[i].setAttribute("role", "tabpanel");
  });

  function show(index, focus) {
    tabs.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
      panels[i].hidden = i !== index;
    });
    if (focus) tabs[index].focus();
  }

  function choose(index) {
    show(index, true);
    try {
      history.replaceState(null, "", tabs[index].hash); // setting the hash itself would scroll
    } catch (error) {
      // a page inside another may not have an address; the tab is shown all the same
    }
  }

  function fromAddress() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const index = panels.findIndex((panel) => target !== null && panel.contains(target));
    show(Math.max(index, 0), false);
    if (index >= 0) nav.scrollIntoView();
  }

  tabs.forEach((tab, i) => {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      choose(i);
    });
    tab.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: tabs.length - 1, " ": i };
      if (!(event.key in steps)) return;
      event.preventDefault();
      choose((steps[event.key] + tabs.length) % tabs.length);
    });
  });
  window.addEventListener("hashchange", fromAddress);
  fromAddress();
})();

// One target at a time, where there are several.
(function () {
  const select = document.getElementById("output");
  if (select === null) return;
  document.getElementById("choice").hidden = false;
  function update() {
    document.querySelectorAll(".output").forEach((block) => {
      block.hidden = select.value !== "all" && block.dataset.output !== select.value;
    });
  }
  select.addEventListener("change", update);
  update();
})();

// Numbers wait for a tap where there is little room.
if (window.matchMedia("(max-width: 560px)").matches) document.getElementById("numbers").open = false;

// Charts say the value under the pointer, or after a step with the arrow keys.
(function () {
  const tip = document.getElementById("tip");
  const namespace = document.querySelector("figure.chart svg")?.namespaceURI;

  function draw(svg, name, attributes) {
    const shape = document.createElementNS(namespace, name);
    Object.entries(attributes).forEach(([key, value]) => shape.setAttribute(key, value));
    svg.appendChild(shape);
    return shape;
  }

  document.querySelectorAll("figure.chart").forEach((figure) => {
    const canvas = figure.querySelector(".canvas");
    const svg = canvas.querySelector("svg");
    const data = JSON.parse(canvas.querySelector("script").textContent);
    const line = data.kind === "line";
    let current = -1;
    let shapes = [];

    function hide() {
      tip.hidden = true;
      shapes.forEach((shape) => shape.remove());
      shapes = [];
    }

    function show(index) {
      hide();
      current = index;
      const x = data.x[index];
      if (line) shapes.push(draw(svg, "line", { x1: x, x2: x, y1: data.top, y2: data.bottom, class: "marker" }));
      data.y.forEach((y) => shapes.push(draw(svg, "circle", { cx: x, cy: y[index], r: 4, class: "dot" })));
      tip.textContent = data.lines[index].map((line, k) => data.labels[k] + line).join("\n");
      tip.hidden = false;
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const left = box.left + x * scale;
      const top = box.top + Math.min(...data.y.map((y) => y[index])) * scale;
      const width = tip.offsetWidth;
      const height = tip.offsetHeight;
      const beside = left + 14 + width > document.documentElement.clientWidth ? left - 14 - width : left + 14;
      tip.style.left = Math.max(4, Math.min(beside, document.documentElement.clientWidth - width - 4)) + "px";
      tip.style.top = Math.max(4, Math.min(top - height - 8, window.innerHeight - height - 4)) + "px";
    }

    function nearest(event) {
      const box = svg.getBoundingClientRect();
      const scale = box.width / svg.viewBox.baseVal.width;
      const x = (event.clientX - box.left) / scale;
      const y = (event.clientY - box.top) / scale;
      let best = -1;
      let distance = line ? Infinity : 24 * 24;
      data.x.forEach((place, i) => {
        const apart = (place - x) ** 2 + (line ? 0 : (data.y[0][i] - y) ** 2);
        if (apart < distance) [best, distance] = [i, apart];
      });
      return best;
    }

    function follow(event) {
      const index = nearest(event);
      if (index < 0) hide();
      else show(index);
    }

    canvas.addEventListener("pointermove", follow);
    canvas.addEventListener("pointerdown", follow);
    canvas.addEventListener("pointerleave", hide);
    canvas.addEventListener("blur", hide);
    canvas.addEventListener("keydown", (event) => {
      const last = data.x.length - 1;
      const steps = { ArrowRight: Math.min(current + 1, last), ArrowLeft: Math.max(current - 1, 0), Home: 0, End: last };
      if (event.key === "Escape") hide();
      if (!(event.key in steps)) return;
      event.preventDefault();
      show(steps[event.key]);
    });
  });
})();
