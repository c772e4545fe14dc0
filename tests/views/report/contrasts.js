() => {
  const numbers = (text) => text.match(/[\d.]+/g).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const rgb = numbers(getComputedStyle(e).backgroundColor);
      if (rgb.length < 4 || rgb[3] > 0) return rgb;
    }
    return [255, 255, 255];
  };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const worst = { text: [99, ""], line: [99, ""] };
  const note = (kind, value, e) => { if (value < worst[kind][0]) worst[kind] = [value, e.outerHTML.slice(0, 90)]; };
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e), own = Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim());
    if (e.closest("script, style, noscript, [hidden]") || !e.getClientRects().length) continue;
    if (own) note("text", ratio(numbers(e.closest("svg") ? style.fill : style.color), behind(e)), e);
    if (e.matches(".curve, .dots, .whisker, .base, .rule")) note("line", ratio(numbers(style.stroke), behind(e)), e);
    if (e.matches(".bar")) note("line", ratio(numbers(style.fill), behind(e)), e);
  }
  return worst;
}
