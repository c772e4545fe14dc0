"use strict";
// Draws the charts of the page as SVG: curves with bands and points, bars, and maps. Colours are those of the style.
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const STARTS = [0, 31, 59.25, 90.25, 120.25, 151.25, 181.25, 212.25, 243.25, 273.25, 304.25, 334.25];
const HOUR = 3600e3, DAY = 24 * HOUR;
const tip = document.getElementById("tip");

// Numbers ------------------------------------------------------------------------------------------------------------

function unpack(packed) {
  if (Array.isArray(packed)) return Float64Array.from(packed, (v) => (v === null ? NaN : v));
  if ("step" in packed) return Float64Array.from({ length: packed.n }, (_, i) => packed.start + packed.step * i);
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  if ("least" in packed) {
    let sum = packed.start;
    return Float64Array.from([sum, ...Array.from(new Uint16Array(bytes.buffer), (count) => (sum += packed.least * count))]);
  }
  const whole = packed.bits === 32 ? new Uint32Array(bytes.buffer) : new Uint16Array(bytes.buffer);
  const steps = 2 ** packed.bits - 2, span = packed.high - packed.low;
  return Float64Array.from(whole, (v) => (v > steps ? NaN : packed.low + (span * v) / steps));
}

function plain(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) { const [mantissa, power] = value.toExponential(digits - 2).split("e"); return `${mantissa} × ${raised(Number(power))}`; }
  const most = size === 0 ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(most, 12) });
}

const raised = (k) => `10${String(k).replace(/./g, (c) => ({ "-": "⁻", 1: "¹", 2: "²", 3: "³" })[c] ?? String.fromCharCode(0x2070 + Number(c)))}`;
const two = (n) => String(n).padStart(2, "0");
const clock = (hours) => { const m = Math.round(hours * 60) % 1440; return `${Math.floor(m / 60)}:${two(m % 60)}`; };

function told(axis, value) {  // a value in words
  if (axis.labels) return axis.labels[Math.round(value)] ?? "";
  if (axis.kind === "hour") return clock(value);
  if (axis.kind === "weekday") {
    const day = Math.floor(value + 1e-6), rest = clock(24 * Math.max(0, value - day));
    return DAYS[((day % 7) + 7) % 7] + (rest === "0:00" ? "" : ` ${rest}`);
  }
  if (axis.kind === "yearday") {
    let month = 11;
    while (month > 0 && STARTS[month] > value + 1e-6) month -= 1;
    return `${Math.floor(value - STARTS[month] + 1e-6) + 1} ${MONTHS[month]}`;
  }
  if (axis.kind === "time") {
    const d = new Date(value), midnight = value % DAY === 0;
    const date = `${DAYS[(d.getUTCDay() + 6) % 7]} ${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]} ${d.getUTCFullYear()}`;
    return midnight ? date : `${date} ${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
  }
  const text = axis.log ? plain(10 ** value) : plain(value);
  return axis.unit ? `${text} ${axis.unit}` : text;
}

function niceTicks(low, high, most) {
  const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((f) => f * power >= raw) * power, ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k += 1) ticks.push(k * step);
  const digits = Math.max(0, -Math.floor(Math.log10(step)));
  const far = Math.max(Math.abs(low), Math.abs(high));
  const write = (v) => far >= 1e7 || far < 1e-3 ? plain(v, 3)
    : v.toLocaleString("en", { maximumFractionDigits: Math.min(digits, 10) });
  return ticks.map((v) => [v, write(Math.abs(v) < step * 1e-9 ? 0 : v)]);
}

function timeTicks(low, high, most) {
  const span = high - low, step = [HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY].find((s) => span / s <= most);
  const ticks = [];
  if (step) {
    const monday = 4 * DAY, zero = step >= 7 * DAY ? monday : 0;
    for (let t = Math.ceil((low - zero) / step) * step + zero; t <= high; t += step) {
      const d = new Date(t), date = `${d.getUTCDate()} ${MONTHS[d.getUTCMonth()]}`;
      ticks.push([t, step < DAY ? (t % DAY === 0 ? date : `${d.getUTCHours()}:00`) : date]);
    }
    return ticks;
  }
  const months = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200].find((m) => span / (m * 30.4 * DAY) <= most) ?? 2400;
  const first = new Date(low);
  let month = first.getUTCFullYear() * 12 + first.getUTCMonth();
  for (month = Math.ceil(month / months) * months; ; month += months) {
    const t = Date.UTC(Math.floor(month / 12), month % 12, 1);
    if (t > high) return ticks;
    const year = Math.floor(month / 12), start = month % 12 === 0;
    if (t >= low) ticks.push([t, months >= 12 || start ? `${year}` : MONTHS[month % 12]]);
  }
}

function ticksOf(axis, low, high, most) {
  if (axis.labels) return axis.labels.map((label, i) => [i, label.length > 12 ? `${label.slice(0, 11)}…` : label]);
  if (axis.kind === "hour") return [0, 6, 12, 18, 24].map((h) => [h, `${h}:00`]);
  if (axis.kind === "weekday") return DAYS.map((name, i) => [i, name]);
  if (axis.kind === "yearday") return STARTS.map((s, i) => [s, MONTHS[i]]).filter((_, i) => i % (most > 9 ? 1 : 2) === 0);
  if (axis.kind === "time") return timeTicks(low, high, most);
  if (axis.log) {
    const step = Math.max(1, Math.ceil((high - low) / most)), ticks = [];
    for (let k = Math.ceil(low); k <= high; k += step) ticks.push([k, k >= -1 && k < 6 ? plain(10 ** k) : raised(k)]);
    return ticks.length > 1 ? ticks : niceTicks(low, high, 3).map(([v]) => [v, plain(10 ** v, 3)]);
  }
  return niceTicks(low, high, most);
}

// Drawing ------------------------------------------------------------------------------------------------------------

function make(parent, name, attributes = {}, text) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

const label = (axis) => (axis.unit ? `${axis.name} (${axis.unit})` : axis.name);
const years = (axis, view) => {  // of an axis of times, whose ticks may show none
  const [first, last] = view.map((t) => new Date(t).getUTCFullYear());
  return axis.kind !== "time" ? label(axis) : first === last ? `${axis.name}, ${first}` : `${axis.name}, ${first} to ${last}`;
};
const cut = (text, room) => (text.length * 6.6 > room ? `${text.slice(0, Math.max(3, Math.floor(room / 6.6) - 1))}…` : text);

function frame(plot, width, height, x, y, xTicks, yTicks, names, xAt, yAt, box) {
  const svg = make(plot, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  for (const [value, text] of yTicks) {
    const at = yAt(value);
    make(svg, "path", { d: `M${box.left},${at}H${box.right}`, class: "grid" });
    make(svg, "text", { x: box.left - 6, y: at + 4, "text-anchor": "end" }, text);
  }
  let last = -1e9;
  for (const [value, text] of xTicks) {
    const at = xAt(value), half = text.length * 3.4;
    if (at - half < last || at < box.left - 1 || at > box.right + 1) continue;
    last = at + half + 8;
    make(svg, "path", { d: `M${at},${box.bottom}v4`, class: "base" });
    const anchor = at + half > width ? "end" : at - half < 0 ? "start" : "middle";
    make(svg, "text", { x: at, y: box.bottom + 18, "text-anchor": anchor }, text);
  }
  make(svg, "path", { d: `M${box.left},${box.bottom}H${box.right}`, class: "base" });
  make(svg, "text", { x: 2, y: 13, class: "name" }, cut(names[1], width - 6));
  if (names[0]) make(svg, "text", { x: box.right, y: height - 4, "text-anchor": "end", class: "name" }, cut(names[0], box.right - box.left));
  return svg;
}

const marginOf = (ticks) => 14 + 6.8 * Math.max(2, ...ticks.map(([, text]) => text.length));

function say(lines, event) {
  tip.textContent = lines.join("\n");
  tip.hidden = false;
  const room = tip.getBoundingClientRect(), away = 14;
  let left = event.clientX + away, top = event.clientY - room.height - away;
  if (left + room.width > innerWidth - 4) left = event.clientX - room.width - away;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${top < 4 ? event.clientY + away : top}px`;
}
const hush = () => { tip.hidden = true; };

function nearest(values, wanted) {  // of ascending values
  let low = 0, high = values.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (values[middle] < wanted) low = middle; else high = middle; }
  return Math.abs(values[low] - wanted) <= Math.abs(values[high] - wanted) ? low : high;
}

// One path for many rows: where several fall on a pixel, their lowest and highest value.
function trace(layer, view, xAt, yAt, room) {
  const { x, y, low, high } = layer;
  let first = 0, last = x.length - 1;
  while (first < last && x[first + 1] < view[0]) first += 1;
  while (last > first && x[last - 1] > view[1]) last -= 1;
  const thin = last - first > 3 * room, line = [], upper = [], lower = [], shapes = [];
  let open = false, previous = NaN;
  const close = () => { if (upper.length > 1) shapes.push(`M${upper.join("L")}L${lower.reverse().join("L")}Z`); upper.length = lower.length = 0; open = false; };
  for (let i = first; i <= last; ) {
    let end = i + 1, least = y[i], most = y[i], under = low ? low[i] : 0, over = low ? high[i] : 0;
    const at = xAt(x[i]);
    if (thin) while (end <= last && xAt(x[end]) < at + 1) {
      if (y[end] < least) least = y[end]; if (y[end] > most) most = y[end];
      if (low) { if (low[end] < under) under = low[end]; if (high[end] > over) over = high[end]; }
      end += 1;
    }
    const missing = Number.isNaN(y[i]), jump = layer.gap && x[i] - previous > layer.gap;
    if (missing || jump) close();
    if (!missing) {
      line.push(`${open ? "L" : "M"}${at.toFixed(1)},${yAt(least).toFixed(1)}` + (most > least ? `V${yAt(most).toFixed(1)}` : ""));
      if (low) { upper.push(`${at.toFixed(1)},${yAt(over).toFixed(1)}`); lower.push(`${at.toFixed(1)},${yAt(under).toFixed(1)}`); }
      open = true;
      previous = x[end - 1];
    }
    i = end;
  }
  close();
  return [line.join(""), shapes.join("")];
}

function curves(plot, data) {
  const layers = data.layers.map((one) => {
    const layer = { ...one };
    for (const key of ["x", "y", "low", "high"]) if (one[key]) layer[key] = unpack(one[key]);
    return layer;
  });
  const drawn = layers.filter((one) => one.x && one.x.length);
  const all = drawn.flatMap((one) => [one.x.reduce((a, b) => Math.min(a, b)), one.x.reduce((a, b) => Math.max(a, b))]);
  const whole = [data.x.low ?? Math.min(...all), data.x.high ?? Math.max(...all)];
  if (!(whole[1] > whole[0])) whole[1] = whole[0] + 1;
  if (data.x.zero) whole[0] = Math.min(0, whole[0]);
  let view = whole.slice(), state = null, marked = -1;
  const holder = document.createElement("div"), ranges = document.createElement("div"), legend = document.createElement("div");
  ranges.className = "ranges"; legend.className = "legend";
  if (data.zoom) plot.append(ranges);
  plot.append(holder);
  const strip = document.createElement("div"), longest = Math.max(...drawn.map((one) => one.x.length));
  const hasStrip = data.zoom && longest > 1500;
  strip.className = "strip";
  if (hasStrip) plot.append(strip);
  if (drawn.length > 1) plot.append(legend);
  for (const one of drawn) {
    const item = document.createElement("span"), key = make(item, "svg", { viewBox: "0 0 22 10", "aria-hidden": "true" });
    if (one.low) make(key, "path", { d: "M0,1H22V9H0Z", class: `band ${one.style}` });
    make(key, "path", one.type === "points" ? { d: "M11,5h0", class: `dots ${one.style}`, "stroke-width": 6 } : { d: "M0,5H22", class: `curve ${one.style}` });
    item.append(one.name);
    legend.append(item);
  }

  function draw() {
    holder.textContent = "";
    const width = Math.max(260, plot.clientWidth), height = data.zoom ? (width < 600 ? 230 : 340) : width < 500 ? 215 : 235;
    let least = data.y.zero ? 0 : Infinity, most = data.y.zero ? 0 : -Infinity;
    for (const one of drawn) for (let i = 0; i < one.x.length; i += 1) {
      if (one.x[i] < view[0] || one.x[i] > view[1]) continue;
      for (const values of [one.y, one.low, one.high]) if (values && !Number.isNaN(values[i])) {
        if (values[i] < least) least = values[i];
        if (values[i] > most) most = values[i];
      }
    }
    if (!(most >= least)) { least = 0; most = 1; }
    if (most === least) { most += Math.abs(most) || 1; least -= Math.abs(least) || 1; }
    const pad = 0.04 * (most - least);
    least -= data.y.zero && least === 0 ? 0 : pad; most += pad;
    const yTicks = ticksOf(data.y, least, most, 6);
    const box = { left: marginOf(yTicks), right: width - 10, top: 24, bottom: height - 38 };
    const xAt = (v) => box.left + ((v - view[0]) / (view[1] - view[0])) * (box.right - box.left);
    const yAt = (v) => box.bottom - ((v - least) / (most - least)) * (box.bottom - box.top);
    const room = box.right - box.left;
    const svg = frame(holder, width, height, data.x, data.y, ticksOf(data.x, ...view, Math.max(3, room / 75)), yTicks, [years(data.x, view), label(data.y)], xAt, yAt, box);
    const id = `clip${Math.random().toString(36).slice(2)}`;
    make(make(make(svg, "defs"), "clipPath", { id }), "rect", { x: box.left, y: box.top - 2, width: room, height: box.bottom - box.top + 4 });
    const inside = make(svg, "g", { "clip-path": `url(#${id})` });
    if (data.y.zero && least < 0) make(inside, "path", { d: `M${box.left},${yAt(0)}H${box.right}`, class: "base" });
    const rules = layers.filter((one) => one.type === "rule" && one.name).map((one) => one.at);
    const traces = layers.map((one) => (one.type === "line" ? trace(one, view, xAt, yAt, room) : null));
    layers.forEach((one, i) => { if (one.low) make(inside, "path", { d: traces[i][1], class: `band ${one.style}` }); });
    layers.forEach((one, i) => {
      if (one.type === "line") {
        make(inside, "path", { d: traces[i][0], class: `curve ${one.style}` });
        if (one.dots) make(inside, "path", { d: Array.from(one.x, (v, j) => (Number.isNaN(one.y[j]) ? "" : `M${xAt(v)},${yAt(one.y[j])}h0`)).join(""), class: `dots ${one.style}`, "stroke-width": 5 });
      } else if (one.type === "points") {
        const dots = [];
        for (let j = 0; j < one.x.length; j += 1) if (one.x[j] >= view[0] && one.x[j] <= view[1]) dots.push(`M${xAt(one.x[j]).toFixed(1)},${yAt(one.y[j]).toFixed(1)}h0`);
        const size = dots.length > 3000 ? 1.5 : dots.length > 600 ? 2.5 : 4;
        make(inside, "path", { d: dots.join(""), class: `dots ${one.style}`, "stroke-width": size, "stroke-opacity": dots.length > 600 ? 0.6 : 0.85 });
      } else if (one.at >= view[0] && one.at <= view[1]) {
        make(inside, "path", { d: `M${xAt(one.at)},${box.top}V${box.bottom}`, class: "rule" });
        const at = xAt(one.at), long = 6.8 * one.name.length + 8, stops = [...rules.map(xAt), box.left, box.right];
        const after = Math.min(...stops.filter((v) => v > at)) - at >= long, before = at - Math.max(...stops.filter((v) => v < at)) >= long;
        if (one.name && (after || before)) make(svg, "text", { x: at + (after ? 4 : -4), y: box.top + 10, "text-anchor": after ? "start" : "end" }, one.name);
      }
    });
    if (hasStrip) overview(width, box);
    state = { svg, box, xAt, yAt, invert: (px) => view[0] + ((px - box.left) / room) * (view[1] - view[0]), overlay: make(svg, "g") };
  }

  let window_ = null;
  function overview(width, box) {  // all rows, and which of them are shown above
    const height = 52, xAt = (v) => box.left + ((v - whole[0]) / (whole[1] - whole[0])) * (box.right - box.left);
    if (!strip.firstChild || strip.dataset.width !== String(width)) {
      strip.textContent = "";
      strip.dataset.width = width;
      const all = drawn.flatMap((one) => [one.y.reduce((a, b) => (b < a ? b : a), Infinity), one.y.reduce((a, b) => (b > a ? b : a), -Infinity)]);
      const least = Math.min(...all), most = Math.max(...all), yAt = (v) => height - 2 - ((v - least) / (most - least || 1)) * (height - 6);
      const svg = make(strip, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
      make(svg, "rect", { x: box.left, y: 0, width: box.right - box.left, height, class: "ground" });
      for (const one of drawn) if (one.type === "line") make(svg, "path", { d: trace({ ...one, low: null }, whole, xAt, yAt, box.right - box.left)[0], class: `curve ${one.style}` });
      window_ = make(svg, "rect", { y: 1, height: height - 2, class: "window" });
      const move = (event) => {
        const rect = svg.getBoundingClientRect(), px = ((event.clientX - rect.left) * width) / rect.width;
        const middle = whole[0] + ((px - box.left) / (box.right - box.left)) * (whole[1] - whole[0]), half = (view[1] - view[0]) / 2;
        show(middle - half, middle + half);
      };
      svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); move(event); });
      svg.addEventListener("pointermove", (event) => { if (event.buttons) move(event); });
    }
    window_.setAttribute("x", xAt(view[0]));
    window_.setAttribute("width", Math.max(3, xAt(view[1]) - xAt(view[0])));
  }

  function point(value, event, near) {
    const { overlay, xAt, yAt, box } = state, lines = [], scatter = drawn.every((one) => one.type === "points" || one.style === "muted");
    overlay.textContent = "";
    let best = null;
    for (const one of drawn) {
      if (one.type === "points") {
        for (let i = 0; i < one.x.length; i += 1) {
          const distance = Math.hypot(xAt(one.x[i]) - xAt(value), near === null ? 0 : yAt(one.y[i]) - near);
          if (distance < 14 && (!best || distance < best.distance)) best = { distance, one, i };
        }
      }
    }
    const found = drawn.filter((one) => one.type === "line" && one.style !== "muted").map((one) => [one, nearest(one.x, value)]);
    if (best) found.push([best.one, best.i]);
    const slack = 8 * (view[1] - view[0]) / (box.right - box.left);
    const close = found.filter(([one, i]) => Math.abs(one.x[i] - value) <= Math.max(slack, 1.01 * Math.abs((one.x[i + 1] ?? one.x[i]) - one.x[i])) && !Number.isNaN(one.y[i]));
    if (!close.length || (scatter && !best)) { hush(); return; }
    const at = close[close.length - 1], place = at[0].x[at[1]];
    if (!scatter) make(overlay, "path", { d: `M${xAt(place)},${box.top}V${box.bottom}`, class: "cursor" });
    lines.push(scatter ? label(data.x) + ": " + told(data.x, place) : told(data.x, place));
    for (const [one, i] of close) {
      make(overlay, "circle", { cx: xAt(one.x[i]), cy: yAt(one.y[i]), r: 4, class: `mark ${one.style}` });
      const band = one.low ? ` (${told({ ...data.y, unit: "" }, one.low[i])} to ${told(data.y, one.high[i])})` : "";
      lines.push(`${one.name}: ${told(data.y, one.y[i])}${band}`);
    }
    const rect = state.svg.getBoundingClientRect(), scale = rect.width / state.svg.viewBox.baseVal.width;
    say(lines, event ?? { clientX: rect.left + xAt(place) * scale, clientY: rect.top + yAt(at[0].y[at[1]]) * scale });
  }

  const spots = (event) => { const rect = state.svg.getBoundingClientRect(), scale = state.svg.viewBox.baseVal.width / rect.width; return [(event.clientX - rect.left) * scale, (event.clientY - rect.top) * scale]; };
  let from = null;
  holder.addEventListener("pointermove", (event) => {
    const [px, py] = spots(event), { box, overlay } = state;
    if (from !== null) {
      overlay.textContent = "";
      const [a, b] = [Math.min(from, px), Math.max(from, px)].map((v) => Math.min(box.right, Math.max(box.left, v)));
      make(overlay, "rect", { x: a, y: box.top, width: b - a, height: box.bottom - box.top, class: "brush" });
      hush();
    } else if (px >= box.left - 4 && px <= box.right + 4) point(state.invert(px), event, py);
    else leave();
  });
  const leave = () => { state.overlay.textContent = ""; hush(); };
  holder.addEventListener("pointerleave", () => { if (from === null) leave(); });
  plot.addEventListener("blur", leave);
  plot.addEventListener("keydown", (event) => {
    const main = drawn.find((one) => one.type === "line") ?? drawn[0], step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Escape") { leave(); marked = -1; }
    if (!step && event.key !== "Home" && event.key !== "End") return;
    event.preventDefault();
    const inside = Array.from(main.x.keys()).filter((i) => main.x[i] >= view[0] && main.x[i] <= view[1]);
    const hop = Math.max(1, Math.round(inside.length / 150));
    marked = event.key === "Home" ? 0 : event.key === "End" ? inside.length - 1 : Math.min(inside.length - 1, Math.max(0, marked + (marked < 0 ? 1 : step * hop)));
    const i = inside[marked];
    point(main.x[i], null, state.yAt(main.y[i]));
  });

  let show = () => {};
  if (data.zoom) {
    const span = whole[1] - whole[0], buttons = [];
    show = (low, high) => {
      const size = Math.min(high - low, span);
      const start = Math.min(Math.max(low, whole[0]), whole[1] - size);
      view = [start, start + size];
      marked = -1;
      draw();
      for (const [button, length] of buttons) button.setAttribute("aria-pressed", String(Math.abs(length - size) < 1e-6 * span));
    };
    const add = (text, act, length, name) => {
      const button = document.createElement("button");
      button.type = "button"; button.textContent = text;
      if (name) button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      ranges.append(button);
      if (length) buttons.push([button, length]);
    };
    add("All", () => show(...whole), span);
    const lengths = data.x.kind === "time" ? [["Year", 365.25 * DAY], ["Month", 30.44 * DAY], ["Week", 7 * DAY], ["Day", DAY]]
      : [["1/4", span / 4], ["1/16", span / 16]];
    const anchor = layers.find((one) => one.type === "rule" && one.name === "last row") ?? layers.find((one) => one.type === "rule");
    for (const [name, length] of lengths) if (length < 0.7 * span) add(name, () => {
      const middle = view[1] - view[0] > 0.99 * span && anchor ? anchor.at : (view[0] + view[1]) / 2;
      show(middle - length / 2, middle + length / 2);
    }, length);
    add("‹", () => show(view[0] - 0.7 * (view[1] - view[0]), view[1] - 0.7 * (view[1] - view[0])), 0, "Earlier");
    add("›", () => show(view[0] + 0.7 * (view[1] - view[0]), view[1] + 0.7 * (view[1] - view[0])), 0, "Later");
    buttons[0][0].setAttribute("aria-pressed", "true");
    if (hasStrip && data.x.kind === "time") {  // a window of some hundred rows around the last one, or the end of those held out
      const main = drawn.find((one) => one.x.length === longest), step = (main.x[longest - 1] - main.x[0]) / (longest - 1);
      const wanted = 700 * step, fits = lengths.filter(([, length]) => length < 0.7 * span).map(([, length]) => length);
      const size = fits.length ? fits.reduce((a, b) => (Math.abs(Math.log(a / wanted)) < Math.abs(Math.log(b / wanted)) ? a : b)) : span;
      const middle = anchor ? anchor.at : whole[1];
      view = [middle - size / 2, middle + size / 2];
      for (const [button, length] of buttons) button.setAttribute("aria-pressed", String(length === size));
    }
    holder.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && event.button === 0) [from] = spots(event); });
    addEventListener("pointerup", (event) => {
      if (from === null) return;
      const [px] = spots(event), [a, b] = [Math.min(from, px), Math.max(from, px)];
      from = null;
      state.overlay.textContent = "";
      if (b - a > 8) show(Math.max(whole[0], state.invert(a)), Math.min(whole[1], state.invert(b)));
    });
    holder.addEventListener("dblclick", () => show(...whole));
  }
  return draw;
}

function bars(plot, data) {
  const [values, low, high] = ["values", "low", "high"].map((key) => unpack(data[key]));
  const holder = document.createElement("div");
  plot.append(holder);
  return () => {
    holder.textContent = "";
    const width = Math.max(260, plot.clientWidth), longest = Math.max(...data.labels.map((text) => text.length));
    const stacked = 7 * longest > 0.4 * width;  // long names get a line of their own
    // few bars share as much as a chart needs to be read
    const row = stacked ? 36 : values.length > 16 ? 20 : Math.max(26, 64 / values.length);
    const height = 24 + row * values.length + 24;
    let least = Math.min(0, ...low, ...values), most = Math.max(0, ...high, ...values);
    if (most === least) most = least + 1;
    const left = stacked ? 0 : 8 + 6.8 * longest;
    const box = { left: left + 4, right: width - 62, top: 24, bottom: height - 24 };
    const xAt = (v) => box.left + ((v - least) / (most - least)) * (box.right - box.left);
    const digits = Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(most - least))));
    const write = (v) => v.toLocaleString("en", { maximumFractionDigits: digits }).replace(/^-0$/, "0");
    const svg = frame(holder, width, height, data.x, {}, niceTicks(least, most, Math.max(2, (box.right - box.left) / 80)), [], ["", label(data.x)], xAt, null, box);
    make(svg, "path", { d: `M${xAt(0)},${box.top}V${box.bottom}`, class: "base" });
    values.forEach((value, i) => {
      const y = box.top + row * i, middle = y + (stacked ? 27 : row / 2);
      const group = make(svg, "g");
      make(group, "rect", { x: Math.min(xAt(0), xAt(value)), y: middle - 9, width: Math.max(1, Math.abs(xAt(value) - xAt(0))), height: 18, class: value < 0 ? "bar negative" : "bar" });
      if (high[i] > low[i]) make(group, "path", { d: `M${xAt(low[i])},${middle}H${xAt(high[i])}M${xAt(low[i])},${middle - 3}v6M${xAt(high[i])},${middle - 3}v6`, class: "whisker" });
      make(group, "text", stacked ? { x: box.left + 4, y: y + 14, class: "name" } : { x: left, y: middle + 4, "text-anchor": "end", class: "name" }, cut(data.labels[i], stacked ? width : left + 9));
      make(group, "text", { x: width - 2, y: middle + 4, "text-anchor": "end" }, write(value));
      make(group, "rect", { x: 0, y, width, height: row, fill: "transparent" });
      group.addEventListener("pointermove", (event) => {
        const band = high[i] > low[i] ? ` (${plain(low[i], 3)} to ${told(data.x, high[i])})` : "";
        say([data.labels[i], `${told(data.x, value)}${band}`], event);
      });
      group.addEventListener("pointerleave", hush);
    });
  };
}

function map(plot, data) {
  const values = unpack(data.values), [xs, ys] = data.places, holder = document.createElement("div");
  const most = Math.max(...values.map(Math.abs)) || 1;
  plot.append(holder);
  const ends = (places) => places.map((v, i) => [
    i ? (places[i - 1] + v) / 2 : v - (places.length > 1 ? (places[1] - v) / 2 : 0.5),
    i < places.length - 1 ? (v + places[i + 1]) / 2 : v + (i ? (v - places[i - 1]) / 2 : 0.5),
  ]);
  const colour = (v) => `color-mix(in oklab, var(--${v < 0 ? "low" : "high"}) ${((100 * Math.abs(v)) / most).toFixed(0)}%, var(--zero))`;
  return () => {
    holder.textContent = "";
    const width = Math.max(260, plot.clientWidth), height = Math.min(340, Math.max(240, 0.7 * width));
    const [ex, ey] = [ends(xs), ends(ys)], wx = [ex[0][0], ex[ex.length - 1][1]], wy = [ey[0][0], ey[ey.length - 1][1]];
    const yTicks = ticksOf(data.y, ...wy, 7).filter(([v]) => v >= wy[0] && v <= wy[1]);
    const box = { left: marginOf(yTicks), right: width - 66, top: 24, bottom: height - 38 };
    const xAt = (v) => box.left + ((v - wx[0]) / (wx[1] - wx[0])) * (box.right - box.left);
    const yAt = (v) => box.bottom - ((v - wy[0]) / (wy[1] - wy[0])) * (box.bottom - box.top);
    const svg = frame(holder, width, height, data.x, data.y, ticksOf(data.x, ...wx, (box.right - box.left) / 60), yTicks, [label(data.x), label(data.y)], xAt, yAt, box);
    xs.forEach((x, i) => ys.forEach((y, j) => {
      const v = values[i * ys.length + j], [left, right] = ex[i].map(xAt), [bottom, top] = ey[j].map(yAt);
      const cell = make(svg, "rect", { x: left.toFixed(1), y: top.toFixed(1), width: (right - left + 0.4).toFixed(1), height: (bottom - top + 0.4).toFixed(1), "shape-rendering": "crispEdges" });
      cell.style.fill = colour(v);
    }));
    for (let k = 0; k <= 20; k += 1) {
      const v = most * (k / 10 - 1), step = (box.bottom - box.top) / 21;
      const cell = make(svg, "rect", { x: box.right + 12, y: box.bottom - step * (k + 1), width: 12, height: step + 0.4 });
      cell.style.fill = colour(v);
    }
    for (const [v, y] of [[most, box.top + 8], [0, (box.top + box.bottom) / 2 + 4], [-most, box.bottom]]) make(svg, "text", { x: box.right + 27, y }, plain(v, 2));
    holder.onpointermove = (event) => {
      const rect = svg.getBoundingClientRect(), scale = width / rect.width, px = (event.clientX - rect.left) * scale, py = (event.clientY - rect.top) * scale;
      if (px < box.left || px > box.right || py < box.top || py > box.bottom) { hush(); return; }
      const i = ex.findIndex(([, end]) => xAt(end) >= px), j = ey.findIndex(([, end]) => yAt(end) <= py);
      if (i < 0 || j < 0) return;
      say([`${data.x.name}: ${told(data.x, xs[i])}`, `${data.y.name}: ${told(data.y, ys[j])}`, told(data.z, values[i * ys.length + j])], event);
    };
    holder.onpointerleave = hush;
  };
}

for (const plot of document.querySelectorAll(".plot")) {
  const data = JSON.parse(plot.querySelector("script").textContent);
  const draw = { curves, bars, map }[data.kind](plot, data);
  let width = 0;
  new ResizeObserver(() => {
    if (Math.abs(plot.clientWidth - width) < 2) return;
    width = plot.clientWidth;
    draw();
  }).observe(plot);
}
document.documentElement.dataset.drawn = "true";
