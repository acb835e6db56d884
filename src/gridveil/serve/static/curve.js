/** An area's consumption over time with its 95 % band; dragging on it, or Shift and arrow keys, marks a period. */

import {chart, pointAt, readable} from './chart.js';
import {make} from './dom.js';
import {csvButton, follow, instants, lasting, sentence} from './panel.js';
import {answerAt, covered, stepsPerPoint, summary} from './points.js';
import {ANSWER} from './table.js';
import {NINETY_FIVE, amount, instant, interval, place, span} from './words.js';

const CLICK = 4;  // pixels: less than this is no drag

/**
 * What the curve is of: one area, or the two that are compared.
 * @param {View} state
 */
export function curveQuestion({area, other, zone}) {
  const differs = other && JSON.stringify(other.area) !== JSON.stringify(area);
  return {area, zone, others: differs ? {area: other.area} : null};
}

/**
 * The series of one area, or of two.
 * @param {CurveQuestion} question
 * @param {Facts} facts
 * @param {Api} api
 * @returns {Promise<[Series, Series | null]>}
 */
export function askCurve({area, others}, facts, api) {
  const {steps, step_seconds: seconds} = facts.axes.time;
  const every = stepsPerPoint(steps, seconds);
  return Promise.all([api.series({area, every}), others && api.series({area: others.area, every})]);
}

/**
 * What a chart draws of them.
 * @param {[Series, Series | null]} series
 * @param {Facts} facts
 * @param {string} zone
 */
export function curveLines([first, second], facts, zone) {
  const {steps} = facts.axes.time;
  const edge = (step) => Number(instant(step, facts)) / 1000;
  const alone = first.value.length === 1;  // one point is drawn as long as it lasts
  const all = (values) => (alone ? [values[0], values[0]] : values);
  const line = (series, colour) => ({value: all(series.value), low: all(series.low), high: all(series.high), colour});
  const middle = (range) => (edge(range[0]) + edge(range[1])) / 2;
  return {
    x: alone ? [edge(0), edge(steps)] : first.first.map((_, i) => middle(covered(first, i))),
    lines: [...(second ? [line(second, 'b')] : []), line(first, 'a')],
    range: [edge(0), edge(steps)],
    zone,
  };
}

/**
 * "kWh per hour", and what else there is to know about points.
 * @param {Facts} facts
 */
export function curveUnit(facts) {
  const {steps, step_seconds: seconds} = facts.axes.time;
  const every = stepsPerPoint(steps, seconds);
  const short = steps > every && steps % every ? `; the last point is of ${lasting(steps % every, facts)} alone` : '';
  return [`kWh per ${lasting(every, facts)}`, short];
}

/** @type {Mount} */
export function mount(element, store, api) {
  const facts = store.release;
  const {steps, step_seconds: seconds} = facts.axes.time;
  const every = stepsPerPoint(steps, seconds);
  const edge = (step) => Number(instant(step, facts)) / 1000;
  let [shown, other, pending, anchor, resting] = [null, null, null, null, true];

  const [unit, short] = curveUnit(facts);
  const readout = make('div', {class: 'readout'});
  const key = make('ul', {class: 'key'});
  const frame = make('div', {class: 'chart', id: 'curve-chart', 'aria-describedby': 'curve-help'});
  const unmark = () => store.set({period: null});
  const clear = make('button', {type: 'button', class: 'plain', onclick: unmark}, 'Clear the period');
  const csv = csvButton('the curve', 'curve', facts, rows);
  const help = make('p', {class: 'hint', id: 'curve-help'},
    'Drag to mark a period: the map shows it too. Click to show that time on the map alone. ',
    make('span', {class: 'keys'}, 'Keys: arrows move, Shift and arrows mark, Enter shows on the map, Escape clears.'));
  const noted = make('span', {class: 'unit'}, `${unit}; shaded, and in brackets: ${NINETY_FIVE} interval${short}`);
  const body = make('div', {}, make('div', {class: 'panel-head'}, noted, clear, csv), key, readout, frame, help);
  const trouble = make('div', {role: 'status'});
  element.replaceChildren(body, trouble);

  const kinds = ['shown', 'other', 'period'];
  const marks = Object.fromEntries(kinds.map((name) => [name, make('div', {class: `mark ${name}`})]));
  const drawing = chart(frame);
  const cursor = readable(frame, (to, from, shift) => {
    pointAt(drawing.plot, to);
    if (!shift) anchor = null;
    else {
      anchor ??= from;
      pending = [covered(shown, Math.min(anchor, to))[0], covered(shown, Math.max(anchor, to))[1]];
      placeMarks();
    }
  });

  function placeMarks() {
    const {plot} = drawing;
    if (!plot) return;
    const {time, period, other: compared} = store.get();
    const whole = time && time[1] - time[0] === steps;
    const put = (name, range) => {
      marks[name].hidden = !range;
      if (!range) return;
      const [left, right] = range.map((step) => plot.valToPos(edge(step), 'x'));
      marks[name].style.left = `${left}px`;
      marks[name].style.width = `${Math.max(right - left, 2)}px`;
    };
    put('shown', whole ? null : time);
    put('other', compared?.period);
    put('period', pending ?? period);
    clear.hidden = !period;
  }

  function read(i) {
    const {zone, period} = store.get();
    if (!shown) return;
    resting = i == null;
    if (resting) {
      readout.replaceChildren(make('span', {}, `${other ? 'A: ' : ''}${summary(shown, facts, zone, period)}`));
      return;
    }
    const say = (series, kind) => {
      const answer = answerAt(series, i);
      return make('span', {}, make('b', {class: kind}, amount(answer)), ` ${interval(answer)}`);
    };
    const when = make('span', {}, span(covered(shown, i), facts, zone));
    readout.replaceChildren(when, say(shown, 'a'), ...(other ? [say(other, 'b')] : []));
  }

  function words(i) {
    const say = (series) => `${amount(answerAt(series, i))}, ${interval(answerAt(series, i))}`;
    const when = span(covered(shown, i), facts, store.get().zone);
    return other ? `${when}: A ${say(shown)}; B ${say(other)}` : `${when}: ${say(shown)}`;
  }

  /** @returns {Table} */
  function rows() {
    /** @param {Series} series @param {Area | null} area */
    const line = (series, area) => series.value.map((kwh, i) => [
      place(area), ...instants(covered(series, i), facts),
      kwh, series.standard_error[i], series.low[i], series.high[i],
    ]);
    const {area, other: compared} = store.get();
    const names = ['area', 'start', 'end', ...ANSWER];
    return [names, [...line(shown, area), ...(other ? line(other, compared.area) : [])]];
  }

  function show([first, second], {zone, area, others}) {
    [shown, other, pending] = [first, second, null];
    body.hidden = false;
    trouble.replaceChildren();
    const names = second ? [['a', `A: ${place(area)}`], ['b', `B: ${place(others.area)}`]] : [['a', place(area)]];
    key.hidden = !second;  // the answer above names the area
    key.replaceChildren(...names.map(([kind, name]) => make('li', {class: kind}, name)));
    const alone = first.value.length === 1;
    drawing.show({
      ...curveLines([first, second], facts, zone),
      hover: (i) => read(i && alone ? 0 : i),
      drawn: placeMarks,
      ready: (plot) => {
        plot.over.append(marks.shown, marks.other, marks.period);
        placeMarks();
      },
    });
    const page = Math.max(1, Math.round(86400 / (every * seconds)));
    const named = names.map(([, name]) => name).join('; ');
    const label = `Consumption over time, ${named}, in ${unit}, with ${NINETY_FIVE} intervals in brackets. `;
    cursor.over({count: first.value.length, page, text: words, label: label + summary(first, facts, zone)});
    read(null);
  }

  follow(store, element, {
    question: (state) => (state.tab === 'curve' ? curveQuestion(state) : null),
    ask: (question) => askCurve(question, facts, api),
    show,
    fail(text) {
      body.hidden = true;
      trouble.replaceChildren(sentence(text, 'trouble'));
    },
  });
  store.subscribe((state, previous) => {
    placeMarks();
    if (resting && String(state.period) !== String(previous.period)) read(null);
  });

  /** Which point the pointer is on. */
  const pointUnder = (event) => {
    const {plot} = drawing;
    const step = (plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, 'x') - edge(0)) / seconds;
    return Math.min(Math.max(Math.floor(step / every), 0), shown.first.length - 1);
  };
  const onMap = (i) => {
    const {time, period} = store.get();
    const alone = time[1] - time[0] === steps || String(time) === String(period);
    const length = alone ? every : time[1] - time[0];  // as long as what the map shows, and in its rhythm
    const origin = alone ? shown.first[i] : time[0];
    const first = origin + Math.floor((shown.first[i] - origin) / length) * length;
    const from = Math.min(Math.max(first, 0), steps - Math.min(length, steps));
    store.set({time: [from, Math.min(from + length, steps)]});
  };

  let drag = null;
  frame.addEventListener('pointerdown', (event) => {
    if (event.button || !shown || !/** @type {Element} */ (event.target).closest('.u-over')) return;
    drag = {from: pointUnder(event), x: event.clientX, moved: false};
    frame.setPointerCapture(event.pointerId);
  });
  frame.addEventListener('pointermove', (event) => {
    if (!drag) return;
    drag.moved ||= Math.abs(event.clientX - drag.x) >= CLICK;
    if (!drag.moved) return;
    const to = pointUnder(event);
    pending = [covered(shown, Math.min(drag.from, to))[0], covered(shown, Math.max(drag.from, to))[1]];
    placeMarks();
    pointAt(drawing.plot, to);
  });
  frame.addEventListener('pointerup', () => {
    if (drag && !drag.moved) onMap(drag.from);
    drag = null;
    commit();
  });
  frame.addEventListener('pointercancel', () => {
    [drag, pending] = [null, null];
    placeMarks();
  });
  frame.addEventListener('pointerleave', () => drag || read(null));

  /** What is being marked becomes the period; once per gesture, so that the browser's history stays short. */
  function commit() {
    const period = pending;
    pending = null;
    if (period) store.set({period});
    placeMarks();
  }
  frame.addEventListener('keyup', (event) => event.key === 'Shift' && commit());
  frame.addEventListener('blur', () => {
    commit();
    read(null);
  });
  frame.addEventListener('focus', () => shown && pointAt(drawing.plot, cursor.at));
  frame.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') onMap(cursor.at);
    else if (event.key === 'Escape') {
      [pending, anchor] = [null, null];
      store.set({period: null});
      placeMarks();
    }
  });
}
