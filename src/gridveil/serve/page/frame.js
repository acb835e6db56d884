/** Where things are: pixels of the map, cells of the grid, coordinates of the world. */

const MARGIN = {left: 54, right: 14, top: 8, bottom: 26};

/** Longitude and latitude where the grid has them, else the grid's own units, of a point given in cells. */
export function toWorld({axes, lonlat}, [x, y]) {
  const [u, v] = [x / axes.x.size, y / axes.y.size];
  if (!lonlat) return [axes.x.start + u * (axes.x.end - axes.x.start), axes.y.start + v * (axes.y.end - axes.y.start)];
  const [sw, se, ne, nw] = lonlat;
  return [0, 1].map((i) => (1 - v) * ((1 - u) * sw[i] + u * se[i]) + v * ((1 - u) * nw[i] + u * ne[i]));
}

/** The opposite: a point in cells, perhaps outside the grid. A few Newton steps, exact where the grid is north up. */
export function toCells(facts, [east, north]) {
  const {x, y} = facts.axes;
  let at = [x.size / 2, y.size / 2];
  for (let round = 0; round < 4; round++) {
    const here = toWorld(facts, at);
    const byX = toWorld(facts, [at[0] + 1, at[1]]).map((value, i) => value - here[i]);
    const byY = toWorld(facts, [at[0], at[1] + 1]).map((value, i) => value - here[i]);
    const [de, dn] = [east - here[0], north - here[1]];
    const area = byX[0] * byY[1] - byX[1] * byY[0];
    at = [at[0] + (de * byY[1] - dn * byY[0]) / area, at[1] + (dn * byX[0] - de * byX[1]) / area];
  }
  return at;
}

/** Round numbers between two ends, about `count` of them. */
export function ticks(from, to, count = 5) {
  const rough = Math.abs(to - from) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((times) => times * power >= rough * 0.999) * power;
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const [low, high] = from < to ? [from, to] : [to, from];
  const values = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) values.push(n * step);
  return {values, decimals};
}

/** The largest round length that fits, for the scale bar. */
export function roundLength(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].find((times) => times * power <= most) * power;
}

/** A map of the grid in so many pixels: as wide as there is room, no higher than `most`, cells in their true shape. */
export function frame(facts, width, most) {
  const {x, y} = facts.axes;
  const [cellWidth, cellHeight] = facts.cell_metres ?? [(x.end - x.start) / x.size, (y.end - y.start) / y.size];
  const ratio = Math.abs((x.size * cellWidth) / (y.size * cellHeight)) || 1;
  const room = Math.max(width - MARGIN.left - MARGIN.right, 40);
  const w = Math.round(Math.min(room, most * ratio));
  const h = Math.max(Math.round(w / ratio), 24);
  const left = MARGIN.left + Math.round((room - w) / 2);
  const box = {x: left, y: MARGIN.top, w, h};
  return {
    facts,
    box,
    nx: x.size,
    ny: y.size,
    width,
    height: MARGIN.top + h + MARGIN.bottom,
    /** Cells to pixels. */
    pixel: ([cx, cy]) => [box.x + (cx / x.size) * w, box.y + (1 - cy / y.size) * h],
    /** Pixels to cells, not rounded. */
    point: ([px, py]) => [((px - box.x) / w) * x.size, (1 - (py - box.y) / h) * y.size],
  };
}
