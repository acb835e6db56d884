/** What is shown as pictures that can stand alone: title, period, legend and epsilon are drawn in. */

import {chartPicture} from './chart.js';
import {palette, position} from './colour.js';
import {askCurve, curveLines, curveQuestion, curveUnit} from './curve.js';
import {make} from './dom.js';
import {frame} from './frame.js';
import {markText, marksIn, scaleName} from './legend.js';
import {scene, theme} from './map.js';
import {FONT, paint} from './paint.js';
import {NINETY_FIVE, place, span, zoneName} from './words.js';

const EDGE = 24;
const WIDTH = 900;
const HIGHEST = 760;
const CURVE_HEIGHT = 320;
const DENSITY = 2;

/** Who published it, when, and how private it is. */
function origin({publisher, published, privacy, private: isPrivate}) {
  const promise = isPrivate
    ? `differential privacy, epsilon ${Number(privacy.epsilon.toPrecision(6))}`
    : 'NOT PRIVATE (test noise)';
  return [publisher, published, promise, 'gridveil'].filter(Boolean).join(' · ');
}

/** A sheet with a title above and where it comes from below. */
function sheet(facts, width, height, ratio, about) {
  const canvas = make('canvas', {width: Math.round(width * ratio), height: Math.round(height * ratio)});
  const ctx = canvas.getContext('2d');
  const colours = theme();
  ctx.scale(ratio, ratio);
  ctx.fillStyle = colours.card;
  ctx.fillRect(0, 0, width, height);
  ctx.textBaseline = 'top';
  ctx.fillStyle = colours.ink;
  ctx.font = `650 20px ${FONT}`;
  ctx.fillText(facts.title || facts.id, EDGE, 20, width - 2 * EDGE);
  ctx.fillStyle = colours.quiet;
  ctx.font = `13px ${FONT}`;
  ctx.fillText(about, EDGE, 48, width - 2 * EDGE);
  ctx.fillText(origin(facts), EDGE, height - 30, width - 2 * EDGE);
  return {canvas, ctx, colours};
}

function scale(ctx, facts, quiet, [x, y, width]) {
  const colours = palette(matchMedia('(prefers-color-scheme: dark)').matches);
  const {top} = facts.scale;
  colours.forEach((colour, level) => {
    ctx.fillStyle = `rgb(${colour.join(' ')})`;
    ctx.fillRect(x + (level * width) / colours.length, y, width / colours.length + 0.6, 12);
  });
  ctx.fillStyle = quiet;
  ctx.font = `12px ${FONT}`;
  ctx.textBaseline = 'top';
  ctx.textAlign = 'left';
  ctx.fillText(`${scaleName(facts)}; hatched: the ${NINETY_FIVE} interval is wider than the value`, x, y - 20, width);
  for (const value of marksIn(top, width)) {
    ctx.textAlign = value === top ? 'right' : value ? 'center' : 'left';
    ctx.fillText(markText(value, top), x + position(value, top) * width, y + 17);
  }
}

/** The map. */
export function mapPicture(store) {
  const facts = store.release;
  const {time, zone} = store.get();
  const at = frame(facts, WIDTH - 32, HIGHEST);
  const about = `${span(time, facts, zone)} (${zoneName(zone)})`;
  const {canvas, ctx, colours} = sheet(facts, WIDTH, at.height + 204, DENSITY, about);
  ctx.save();
  ctx.translate(16, 80);
  paint(ctx, scene(store, at, DENSITY), colours);
  ctx.restore();
  scale(ctx, facts, colours.quiet, [16 + at.box.x, 112 + at.height, at.box.w]);
  return canvas;
}

/** The curve, whether or not it is on the page. */
export async function curvePicture(store, api) {
  const facts = store.release;
  const question = curveQuestion(store.get());
  const {area, others, zone} = question;
  const series = await askCurve(question, facts, api);
  const [width, height] = [WIDTH - 32, CURVE_HEIGHT];
  const drawn = await chartPicture(curveLines(series, facts, zone), [width * DENSITY, height * DENSITY], DENSITY);
  const [unit, short] = curveUnit(facts);
  const where = others ? `A (blue): ${place(area)}; B (orange): ${place(others.area)}` : place(area);
  const shaded = `shaded: ${NINETY_FIVE} interval${short}`;
  const about = `${where[0].toUpperCase()}${where.slice(1)} (${zoneName(zone)}) · ${unit}; ${shaded}`;
  const {canvas, ctx} = sheet(facts, WIDTH, height + 130, DENSITY, about);
  ctx.drawImage(drawn, 16, 80, width, height);
  return canvas;
}
