/** The points of a curve: how many steps make one, what it says, which is highest. */

import {brief} from './panel.js';
import {span} from './words.js';

const MOST_POINTS = 1000;
const LENGTHS = [1800, 3600, 3 * 3600, 6 * 3600, 86400, 7 * 86400];

/** How many steps make one point: the first natural length (an hour, a day …) that keeps the curve readable. */
export function stepsPerPoint(steps, seconds) {
  const enough = (every) => Math.ceil(steps / every) <= MOST_POINTS;
  const natural = LENGTHS.filter((length) => length > seconds && length % seconds === 0);
  return [1, ...natural.map((length) => length / seconds)].find(enough) ?? Math.ceil(steps / MOST_POINTS);
}

/** The steps of point i: its first, and the next one's first. */
export const covered = (series, i) => [series.first[i], series.first[i + 1] ?? series.time.last];
/** Point i as an answer. */
export const answerAt = ({value, low, high}, i) => ({value: value[i], low: low[i], high: high[i]});

/** The highest and the lowest point in a sentence. */
export function summary(series, facts, zone) {
  const say = (i) => `${brief(answerAt(series, i))}, ${span(covered(series, i), facts, zone)}.`;
  if (series.value.length === 1) return say(0);
  const [least, most] = [Math.min(...series.value), Math.max(...series.value)];
  if (most - least <= 1e-6 * Math.abs(most)) {
    const widest = {value: most, low: Math.min(...series.low), high: Math.max(...series.high)};
    return `The same value at all times: ${brief(widest)} at the widest.`;
  }
  return `Highest ${say(series.value.indexOf(most))} Lowest ${say(series.value.indexOf(least))}`;
}
