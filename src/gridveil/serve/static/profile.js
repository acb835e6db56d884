/** A typical day and a typical week of an area, by the clock on the wall. */

import {chart, pointAt, readable} from './chart.js';
import {make} from './dom.js';
import {brief, csvButton, follow, lasting, sentence} from './panel.js';
import {answerAt} from './points.js';
import {ANSWER} from './table.js';
import {NINETY_FIVE, amount, interval, place, zoneName} from './words.js';

const DAYS = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
/**
 * @typedef {['all' | 'weekday' | 'weekend', string, string, number[]?]} Kind of days: name, label, colour and dashes
 * @type {Kind[]}
 */
const KINDS = [
  ['all', 'All days', 'quiet', [4, 4]],
  ['weekday', 'Monday to Friday', 'a'],
  ['weekend', 'Saturday and Sunday', 'b'],
];
const DAY = 1440;

/** "07:00" from minutes after midnight; the end of a day is 24:00. */
export function wall(minutes, end = false) {
  const inDay = end && minutes > 0 && minutes % DAY === 0 ? DAY : minutes % DAY;
  return [Math.floor(inDay / 60), Math.floor(inDay % 60)].map((part) => String(part).padStart(2, '0')).join(':');
}

/** Why there is no typical day or week. */
export function reason(what, {steps, step_seconds: seconds}) {
  const length = what === 'day' ? 86400 : 7 * 86400;
  if (what === 'day' && seconds === 86400) return 'No typical day: every step is a whole day.';
  if (86400 % seconds) return `No typical ${what}: steps of this length do not make whole days.`;
  if (steps * seconds < length) return `No typical ${what}: the release is shorter than a whole ${what}.`;
  return `No typical ${what}: the release does not have every hour of one.`;
}

function peak(name, line, when) {
  const top = line.value.indexOf(Math.max(...line.value));
  return `${name}highest ${when(top)}, ${brief(answerAt(line, top))}`;
}

/** When each line is highest; days of one kind say more than all of them together. */
function peaks(lines, when) {
  const told = lines.length > 1 ? lines.filter(({dash}) => !dash) : lines;
  const text = told.map((line) => peak(lines.length > 1 ? `${line.name}: ` : '', line, when)).join('. ');
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

/** One chart: lines with bands, a line of text for the point under the pointer, arrow keys. */
function figure(heading, id, unit) {
  const readout = make('div', {class: 'readout'});
  const frame = make('div', {class: 'chart', id});
  const key = make('ul', {class: 'key'});
  const drawing = chart(frame);
  const cursor = readable(frame, (to) => pointAt(drawing.plot, to));
  frame.addEventListener('focus', () => pointAt(drawing.plot, cursor.at));
  const element = make('figure', {}, make('figcaption', {}, make('b', {}, heading), ` ${unit}`, key), readout, frame);

  function show({lines, minutes, step, range, splits, labels, when, name}) {
    const one = (line, i) =>
      make('span', {}, make('b', {class: line.colour}, amount(answerAt(line, i))), ` ${interval(answerAt(line, i))}`);
    const read = (i) => (i == null
      ? [make('span', {}, peaks(lines, when))]
      : [make('span', {}, when(i)), ...lines.map((line) => one(line, i))]);
    const rest = () => readout.replaceChildren(...read(null));
    frame.onpointerleave = rest;
    frame.onblur = rest;
    key.replaceChildren(...(lines.length > 1 ? lines.map((line) => make('li', {class: line.colour}, line.name)) : []));
    const x = minutes.map((minute) => minute + step / 2);
    const hover = (i) => readout.replaceChildren(...read(i));
    drawing.show({x, lines, range, splits, labels, height: 210, hover});
    const told = (line, i) => `${line.name} ${amount(answerAt(line, i))}, ${interval(answerAt(line, i))}`;
    const text = (i) => `${when(i)}: ${lines.map((line) => told(line, i)).join('; ')}`;
    const label = `${name}, with ${NINETY_FIVE} intervals in brackets. ${peaks(lines, when)}`;
    cursor.over({count: minutes.length, page: Math.max(1, Math.round(DAY / step)), text, label});
    rest();
  }
  return {element, show};
}

/** @type {Mount} */
export function mount(element, store, api) {
  const facts = store.release;
  const {time} = facts.axes;
  const step = time.step_seconds / 60;
  const unit = `average kWh per ${lasting(1, facts)}`;
  const noted = `${unit}; shaded, and in brackets: ${NINETY_FIVE} interval`;
  let [shown, asked] = [null, null];

  const title = make('p', {class: 'panel-what'});
  const csv = csvButton('the typical day and week', 'profile', facts, rows);
  const [day, week] = [figure('Typical day', 'profile-day', noted), figure('Typical week', 'profile-week', noted)];
  const [noDay, noWeek, lacks] = [sentence(''), sentence(''), sentence('')];
  const head = make('div', {class: 'panel-head'}, title, csv);
  const body = make('div', {}, head, day.element, lacks, noDay, week.element, noWeek);
  const trouble = make('div', {role: 'status'});
  element.replaceChildren(body, trouble);

  function showDay(answer, name) {
    const same = !answer.weekday || !answer.weekend;  // days of one kind alone: they are all days
    const lines = KINDS.filter(([kind]) => answer[kind] && (kind === 'all' || !same)).map(
      ([kind, label, colour, dash]) => ({...answer[kind], name: label, ...(same ? {colour: 'a'} : {colour, dash})}));
    const when = (i) => `${wall(answer.minutes[i])} to ${wall(answer.minutes[i] + step, true)}`;
    const none = answer.weekday ? '' : 'no whole day from Monday to Friday';
    const missing = answer.weekend ? none : 'no whole Saturday or Sunday';
    lacks.textContent = missing && `There is ${missing} in this release, so kinds of days are not told apart.`;
    day.show({
      lines, minutes: answer.minutes, step, when, range: [0, DAY], name: `Typical day, ${name}, ${unit}`,
      splits: (plot) => (plot.width < 420 ? [0, 6, 12, 18, 24] : [0, 3, 6, 9, 12, 15, 18, 21, 24])
        .map((hour) => 60 * hour),
      labels: (_, splits) => splits.map((minute) => wall(minute, true)),
    });
  }

  function showWeek(answer, name) {
    const dayOf = (minute) => DAYS[Math.floor(minute / DAY) % 7];
    week.show({
      lines: [{...answer, name: 'Week', colour: 'a'}], minutes: answer.minutes, step, range: [0, 7 * DAY],
      when: (i) => `${dayOf(answer.minutes[i])}, ${wall(answer.minutes[i])} to ${wall(answer.minutes[i] + step, true)}`,
      name: `Typical week, ${name}, ${unit}`,
      splits: () => DAYS.map((_, i) => i * DAY),
      labels: (plot) => DAYS.map((each) => each.slice(0, plot.width < 420 ? 2 : 3)),
    });
  }

  function show(answer, question) {
    [shown, asked] = [answer, question];
    body.hidden = false;
    trouble.replaceChildren();
    const name = place(question.area);
    title.replaceChildren(make('b', {}, name), `, over the whole release, ${zoneName(question.zone)}`);
    const parts = answer.day?.minutes.length > 1;  // of a day
    day.element.hidden = lacks.hidden = !parts;
    week.element.hidden = !answer.week;
    noDay.textContent = parts ? '' : reason('day', time);
    noWeek.textContent = answer.week ? '' : reason('week', time);
    csv.hidden = !answer.day && !answer.week;
    if (parts) showDay(answer.day, name);
    if (answer.week) showWeek(answer.week, name);
  }

  /** @returns {Table} */
  function rows() {
    const names = ['area', 'timezone', 'profile', 'weekday', 'starts_at', ...ANSWER.map((name) => `average_${name}`)];
    /** @param {(minute: number) => string} [weekday] */
    const line = (profile, minutes, answers, weekday = (_) => '') => (answers ? minutes.map((minute, i) => [
      place(asked.area), asked.zone, profile, weekday(minute), wall(minute),
      answers.value[i], answers.standard_error[i], answers.low[i], answers.high[i],
    ]) : []);
    const {day: days, week: weeks} = shown;
    /** @param {Kind} of */
    const ofDay = ([kind, label]) => line(`typical day, ${label.toLowerCase()}`, days.minutes, days[kind]);
    const weekday = (minute) => DAYS[Math.floor(minute / DAY) % 7];
    return [names, [
      ...(days ? KINDS.flatMap(ofDay) : []),
      ...(weeks ? line('typical week', weeks.minutes, weeks, weekday) : []),
    ]];
  }

  follow(store, element, {
    question: ({tab, area, zone}) => (tab === 'profile' ? {area, zone} : null),
    ask: ({area, zone}) => api.profile({area, timezone: zone}),
    show,
    fail(text) {
      body.hidden = true;
      trouble.replaceChildren(sentence(text, 'trouble'));
    },
  });
}
