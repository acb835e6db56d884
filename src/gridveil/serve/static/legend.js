/** What the map's colours and hatching mean. */

import {marks, palette, position} from './colour.js';
import {make} from './dom.js';
import {hatch} from './paint.js';
import {duration} from './words.js';

const HATCHED = 'hatched: the interval is wider than the value';

/** How a number below the scale is written. */
export const markText = (value, top) => `${Number(value.toPrecision(2))}${value === top ? ' kWh or more' : ''}`;

/** The numbers that fit below a scale so many pixels wide. */
export const marksIn = (top, width) => marks(top, 36 / width, (28 + 7.5 * markText(top, top).length) / width);

/** "Average use of a cell per hour" */
export const scaleName = (facts) => `Average use of a cell per ${duration(facts.axes.time.step_seconds)}`;

function bar(colours) {
  const canvas = make('canvas', {width: colours.length, height: 1, 'aria-hidden': 'true'});
  const pixels = new Uint8ClampedArray(colours.flatMap((colour) => [...colour, 255]));
  canvas.getContext('2d').putImageData(new ImageData(pixels, colours.length, 1), 0, 0);
  return canvas;
}

function swatch(colour) {
  const ratio = devicePixelRatio;
  const canvas = make('canvas', {width: 30 * ratio, height: 20 * ratio, 'aria-hidden': 'true'});
  const ctx = canvas.getContext('2d');
  for (const style of [`rgb(${colour.join(' ')})`, ctx.createPattern(hatch(ratio), 'repeat')]) {
    ctx.fillStyle = style;
    ctx.fillRect(0, 0, canvas.width, canvas.height);
  }
  return canvas;
}

function mark(value, top) {
  const share = position(value, top);
  const element = make('span', {}, markText(value, top));
  element.style.left = `${100 * share}%`;
  element.style.transform = `translateX(${share === 1 ? -100 : share ? -50 : 0}%)`;
  return element;
}

/** Draw the legend anew: the scale, and what hatched cells are. */
export function legend(element, facts, dark) {
  const colours = palette(dark);
  const {top} = facts.scale;
  const row = make('div', {class: 'marks'});
  element.replaceChildren(
    make('span', {}, scaleName(facts)),
    make('div', {class: 'hatched'}, swatch(colours[60]), make('span', {}, HATCHED)),
    bar(colours),
    row,
  );
  row.append(...marksIn(top, row.clientWidth || 300).map((value) => mark(value, top)));
}
