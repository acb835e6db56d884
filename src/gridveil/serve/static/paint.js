/** Draws the map on a canvas: cells, hatching, coordinates, scale bar, overlays and what is marked. */

import {colourise} from './colour.js';
import {make} from './dom.js';
import {ringCells, roundLength, shareAt, ticks, toWorld} from './frame.js';
import {degrees, number} from './words.js';

/** Of everything that is written on a canvas. */
export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';

/**
 * @param {number} width
 * @param {number} height
 */
const canvas = (width, height) => make('canvas', {width, height});

/**
 * Diagonal lines, dark beside light, so that they show on every colour.
 * @param {number} ratio
 */
export function hatch(ratio) {
  const size = Math.round(7 * ratio);
  const tile = canvas(size, size);
  const ctx = tile.getContext('2d');
  /** @type {[number, string][]} */
  const strokes = [[0, 'rgb(40 30 50 / 30%)'], [1 / 7, 'rgb(255 255 255 / 32%)']];
  for (const [shift, colour] of strokes) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = ratio;
    ctx.beginPath();
    for (const at of [-1, 0, 1]) {
      ctx.moveTo((at + shift - 0.1) * size, 1.1 * size);
      ctx.lineTo((at + shift + 1.1) * size, -0.1 * size);
    }
    ctx.stroke();
  }
  return tile;
}

/**
 * A slice as two small pictures, one pixel a cell: colours, and where it is uncertain.
 * @param {Slice} slice
 * @param {number} top
 * @param {number[][]} colours
 * @returns {Record<'colours' | 'uncertain', HTMLCanvasElement>}
 */
export function pictures(slice, top, colours) {
  const {nx, ny, time} = slice;
  const made = colourise(slice, time[1] - time[0], top, colours);
  const picture = (pixels) => {
    const drawn = canvas(nx, ny);
    drawn.getContext('2d').putImageData(new ImageData(pixels, nx, ny), 0, 0);
    return drawn;
  };
  return {colours: picture(made.colours), uncertain: picture(made.uncertain)};
}

/**
 * The hatching of all uncertain cells as one layer.
 * @param {HTMLCanvasElement} uncertain
 * @param {Frame} frame
 * @param {number} ratio
 */
export function hatching(uncertain, {box}, ratio) {
  const layer = canvas(Math.round(box.w * ratio), Math.round(box.h * ratio));
  const ctx = layer.getContext('2d');
  ctx.imageSmoothingEnabled = false;
  ctx.drawImage(uncertain, 0, 0, layer.width, layer.height);
  ctx.globalCompositeOperation = 'source-in';
  ctx.fillStyle = ctx.createPattern(hatch(ratio), 'repeat');
  ctx.fillRect(0, 0, layer.width, layer.height);
  return layer;
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Frame} frame
 * @param {Theme} theme
 */
function coordinates(ctx, {facts, box, pixel, nx, ny, width}, theme) {
  const corner = (x, y) => toWorld(facts, [x, y]);
  ctx.fillStyle = theme.quiet;
  ctx.strokeStyle = theme.line;
  ctx.lineWidth = 1;
  ctx.font = `11px ${FONT}`;
  const [west, south] = corner(0, 0);
  const sides = [
    {from: west, to: corner(nx, 0)[0], room: box.w / 90, at: (share) => pixel([share * nx, 0]), across: true},
    {from: south, to: corner(0, ny)[1], room: box.h / 70, at: (share) => pixel([0, share * ny]), across: false},
  ];
  for (const {from, to, room, at, across} of sides) {
    const {values, decimals} = ticks(from, to, Math.max(room, 2));
    for (const value of values) {
      const [px, py] = at(shareAt(facts, value, across ? 0 : 1));
      const text = facts.lonlat ? degrees(value, across ? 'WE' : 'SN', decimals) : number(value, decimals);
      ctx.beginPath();
      ctx.moveTo(px, py);
      ctx.lineTo(across ? px : px - 4, across ? py + 4 : py);
      ctx.stroke();
      ctx.textAlign = across ? 'center' : 'right';
      ctx.textBaseline = across ? 'top' : 'middle';
      const half = ctx.measureText(text).width / 2;
      ctx.fillText(text, across ? Math.min(px, width - half) : px - 7, across ? py + 7 : py);
    }
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Frame} frame
 * @param {Theme} theme
 */
function scaleBar(ctx, {facts, box, nx}, theme) {
  if (!facts.cell_metres) return;
  const metres = nx * facts.cell_metres[0];
  const length = roundLength(metres * 0.25);
  const w = (length / metres) * box.w;
  const text = length >= 1000 ? `${number(length / 1000)} km` : `${number(length)} m`;
  const [x, y] = [box.x + box.w - w - 18, box.y + box.h - 32];
  ctx.globalAlpha = 0.86;
  ctx.fillStyle = theme.card;
  ctx.beginPath();
  ctx.roundRect(x - 8, y - 1, w + 16, 25, 5);
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.fillStyle = ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 1.5;
  ctx.beginPath();
  ctx.moveTo(x, y + 14);
  ctx.lineTo(x, y + 18);
  ctx.lineTo(x + w, y + 18);
  ctx.lineTo(x + w, y + 14);
  ctx.stroke();
  ctx.font = `11px ${FONT}`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'top';
  ctx.fillText(text, x + w / 2, y + 3);
}

/**
 * Stroke a path twice: a casing of the page's colour below, so that the line shows on every cell.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Path2D} path
 * @param {string} colour
 * @param {number} width
 * @param {Theme} theme
 * @param {number[]} [dash]
 */
function cased(ctx, path, colour, width, theme, dash = []) {
  ctx.lineJoin = 'round';
  ctx.setLineDash([]);
  ctx.strokeStyle = theme.card;
  ctx.lineWidth = width + 2.5;
  ctx.stroke(path);
  ctx.setLineDash(dash);
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.stroke(path);
  ctx.setLineDash([]);
}

/**
 * One path of several lines.
 * @param {Ring[]} rings
 * @param {boolean} closed
 */
function lines(rings, closed) {
  const path = new Path2D();
  for (const points of rings) {
    points.forEach(([x, y], n) => (n ? path.lineTo(x, y) : path.moveTo(x, y)));
    if (closed) path.closePath();
  }
  return path;
}

/**
 * The outline of an area in pixels: rings.
 * @param {Area} area
 * @param {Frame} frame
 * @returns {Ring[]}
 */
export function outline(area, {facts, pixel}) {
  if (area.polygons) return area.polygons.flat().map((ring) => ringCells(facts, ring).map(pixel));
  const [[x0, x1], [y0, y1]] = [area.x, area.y];
  return [[[x0, y0], [x1, y0], [x1, y1], [x0, y1]].map(pixel)];
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Frame} frame
 * @param {MarkedArea} marked
 * @param {Theme} theme
 */
function marked(ctx, frame, {area, name, colour, dash}, theme) {
  const rings = outline(area, frame);
  cased(ctx, lines(rings, true), colour, 2.5, theme, dash);
  if (!name) return;
  const [x, y] = [0, 1].map((axis) => rings.flat().reduce((least, point) => Math.min(least, point[axis]), Infinity));
  ctx.fillStyle = colour;
  ctx.beginPath();
  ctx.roundRect(x - 1, y - 1, 19, 19, 4);
  ctx.fill();
  ctx.fillStyle = theme.card;
  ctx.font = `700 12px ${FONT}`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  ctx.fillText(name, x + 8.5, y + 9);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Frame} frame
 * @param {Shape[]} shapes
 * @param {Theme} theme
 */
function overlays(ctx, frame, shapes, theme) {
  for (const {kind, rings} of shapes) {
    const pixels = rings.map((ring) => ring.map(frame.pixel));
    if (kind === 'point') {
      const [[[x, y]]] = pixels;
      const dot = new Path2D();
      dot.arc(x, y, 3.2, 0, 7);
      cased(ctx, dot, theme.ink, 1.5, theme);
      ctx.fillStyle = theme.card;
      ctx.fill(dot);
    } else cased(ctx, lines(pixels, kind === 'polygon'), theme.ink, 1.2, theme);
  }
}

/**
 * Draw everything.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} parts
 * @param {Theme} theme
 */
export function paint(ctx, {frame, layers, areas, shapes, draft, cell}, theme) {
  const {box, pixel, facts} = frame;
  if (layers) {
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(layers.colours, box.x, box.y, box.w, box.h);
    ctx.drawImage(layers.hatched, box.x, box.y, box.w, box.h);
  }
  ctx.strokeStyle = theme.edge;
  ctx.lineWidth = 1;
  ctx.strokeRect(box.x - 0.5, box.y - 0.5, box.w + 1, box.h + 1);
  coordinates(ctx, frame, theme);
  ctx.save();
  ctx.beginPath();
  ctx.rect(box.x - 2, box.y - 2, box.w + 4, box.h + 4);
  ctx.clip();
  overlays(ctx, frame, shapes, theme);
  for (const each of areas) marked(ctx, frame, each, theme);
  if (draft?.corners) {
    const points = ringCells(facts, draft.corners, false).map(pixel);
    cased(ctx, lines([points], false), theme.released, 2, theme, [5, 4]);
  } else if (draft) marked(ctx, frame, {area: draft, colour: theme.released, dash: [5, 4]}, theme);
  if (cell) {
    const [x, y] = cell;
    cased(ctx, lines(outline({x: [x, x + 1], y: [y, y + 1]}, frame), true), theme.ink, 1.5, theme);
  }
  ctx.restore();
  scaleBar(ctx, frame, theme);
}
