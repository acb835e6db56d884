/** The points of a curve: how many steps make one, what it says, which is highest. */

import {brief} from './panel.js';
import {span} from './words.js';

const MOST_POINTS = 1000;
const LENGTHS = [1800, 3600, 3 * 3600, 6 * 3600, 86400, 7 * 86400];

/**
 * How many steps make one point: the first natural length (an hour, a day …) that keeps the curve readable.
 * @param {number} steps
 * @param {number} seconds
 */
export function stepsPerPoint(steps, seconds) {
  const enough = (every) => Math.ceil(steps / every) <= MOST_POINTS;
  const natural = LENGTHS.filter((length) => length > seconds && length % seconds === 0);
  return [1, ...natural.map((length) => length / seconds)].find(enough) ?? Math.ceil(steps / MOST_POINTS);
}

/**
 * The steps of point i: its first, and the next one's first.
 * @param {Pick<Series, 'first' | 'time'>} series
 * @param {number} i
 * @returns {Span}
 */
export const covered = (series, i) => [series.first[i], series.first[i + 1] ?? series.time.last];
/**
 * Point i as an answer.
 * @param {Intervals} series
 * @param {number} i
 * @returns {Interval}
 */
export const answerAt = ({value, low, high}, i) => ({value: value[i], low: low[i], high: high[i]});

/**
 * The points that lie in a period; null where it has no whole one, or is all there is.
 * @param {Series} series
 * @param {Span | null} period
 */
function within(series, period) {
  if (!period) return null;
  const found = series.value.map((_, i) => i).filter((i) => {
    const [first, last] = covered(series, i);
    return first >= period[0] && last <= period[1];
  });
  return found.length && found.length < series.value.length ? found : null;
}

/**
 * The highest and the lowest point in a sentence: of the marked period, where there is one.
 * @param {Series} series
 * @param {Facts} facts
 * @param {string} zone
 * @param {Span | null} [period]
 */
export function summary(series, facts, zone, period = null) {
  const say = (i) => `${brief(answerAt(series, i))}, ${span(covered(series, i), facts, zone)}.`;
  const marked = within(series, period);
  const points = marked ?? series.value.map((_, i) => i);
  const lead = marked ? 'In the marked period: ' : '';
  if (points.length === 1) return lead + say(points[0]);
  const by = (better) => points.reduce((best, i) => (better(series.value[i], series.value[best]) ? i : best), points[0]);
  const [least, most] = [by((a, b) => a < b), by((a, b) => a > b)];
  if (series.value[most] - series.value[least] <= 1e-6 * Math.abs(series.value[most])) {
    const [low, high] = [points.map((i) => series.low[i]), points.map((i) => series.high[i])];
    const widest = {value: series.value[most], low: Math.min(...low), high: Math.max(...high)};
    return `${lead}${lead ? 'the' : 'The'} same value at all times: ${brief(widest)} at the widest.`;
  }
  return `${lead}${lead ? 'highest' : 'Highest'} ${say(most)} Lowest ${say(least)}`;
}
