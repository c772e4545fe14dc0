// Contrasts of the texts of a page, and of the lines of its charts, with what is behind them (WCAG): the lowest of each.
() => {
  const colour = (text) => {  // red, green and blue from 0 to 255, and opacity
    const [r, g, b, alpha = 1] = text.match(/[\d.]+(?:e-?\d+)?/g).map(Number);
    const scale = text.startsWith("color(") ? 255 : 1;
    return [r * scale, g * scale, b * scale, alpha];
  };
  const over = (top, below) => top.slice(0, 3).map((v, i) => top[3] * v + (1 - top[3]) * below[i]);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (e) => {
    if (!e) return [255, 255, 255];
    const own = colour(getComputedStyle(e).backgroundColor);
    return own[3] === 1 ? own.slice(0, 3) : over(own, behind(e.parentElement));
  };
  const ratio = (text, e) => {
    const back = behind(e), [x, y] = [light(over(colour(text), back)), light(back)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const worst = { text: [99, ""], line: [99, ""] };
  const note = (kind, value, e) => { if (value < worst[kind][0]) worst[kind] = [value, e.outerHTML.slice(0, 120)]; };
  for (const e of document.querySelectorAll("body *")) {
    const style = getComputedStyle(e), own = Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.textContent.trim());
    if (e.closest("script, style, noscript, [hidden]") || !e.getClientRects().length) continue;
    if (!e.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    if (own) note("text", ratio(e.closest("svg") ? style.fill : style.color, e), e);
    if (e.matches(".curve, .dots, .whisker, .base, .rule")) note("line", ratio(style.stroke, e), e);
    if (e.matches(".bar")) note("line", ratio(style.fill, e), e);
  }
  return worst;
}
