/** The large number: what the marked area used in the marked period, how sure that is, and what share of the map. */

import {make} from './dom.js';
import {
  averageOver, cellCount, csvButton, extent, follow, instants, lasting, per, sentence, shareOf, size, vague,
} from './panel.js';
import {ANSWER} from './table.js';
import {amount, figure, interval, joined, place, rounded, shape, span, zoneName} from './words.js';

const VAGUE = 'Too uncertain to say much: the interval is wider than the value.';
const NEGATIVE = 'A value below zero is noise around little or no consumption.';

/** "about 53.2 kWh per hour (95 % interval: 50.1 to 56.3 kWh)"; nothing for a single step. */
export function average(answer, period, facts) {
  const steps = averageOver(period, facts);
  if (!steps) return '';
  const mean = per(answer, (period[1] - period[0]) / steps);
  return `On average ${amount(mean)} per ${lasting(steps, facts)} (${interval(mean)}).`;
}

/** "12.3 % of the whole map in the same period (11.8 to 12.9 % if both intervals hold)" */
export function shareInWords(answer, map) {
  const share = shareOf(answer, map);
  if (!share) return 'Its share of the whole map cannot be said: the map’s own interval reaches down to zero.';
  const most = Math.max(1, share.value);  // a part is no more than the whole, whatever intervals allow
  const {value, low, high} = rounded(per({...share, high: Math.min(share.high, most)}, 1 / 100));
  return joined(`${value} % of the whole map in the same period (${low} to ${high} % if both intervals hold).`);
}

/** The same question for the command line, whose ranges end before their second number; none for polygons. */
export function command({area, period}, {id, axes}) {
  if (area?.polygons) return '';
  const whole = period ?? [0, axes.time.steps];
  const cells = area ? ` --x ${area.x.join(':')} --y ${area.y.join(':')}` : '';
  return `gridveil query ${id}${cells} --time ${whole.join(':')}`;
}

/** A line of text to copy. */
function copyable(label) {
  const code = make('code');
  const note = make('span', {role: 'status', class: 'sr'});
  const copy = async () => {
    // Browsers let pages copy only where the connection is safe, which another computer's name without https is not.
    await navigator.clipboard?.writeText(code.textContent);
    note.textContent = press.textContent = navigator.clipboard ? 'Copied' : 'Select and copy it';
  };
  const press = make('button', {type: 'button', class: 'plain', onclick: copy}, 'Copy');
  const element = make('p', {class: 'typed'}, make('span', {}, label), code, press, note);
  return {
    element,
    show(text) {
      element.hidden = !text;
      code.textContent = text;
      press.textContent = 'Copy';
      note.textContent = '';
    },
  };
}

/** @type {Mount} */
export function mount(element, store, api) {
  const facts = store.release;
  const all = [0, facts.axes.time.steps];
  let [shown, asked] = [null, null];

  const what = make('p', {class: 'answer-what'});
  const where = make('p', {class: 'quiet'});
  const number = make('output', {id: 'answer-value', class: 'answer-value'});
  const range = make('p', {id: 'answer-interval', class: 'answer-interval'});
  const doubt = make('p', {class: 'doubt', hidden: true});
  const more = make('p', {class: 'answer-more'});
  const line = make('p', {class: 'answer-line'}, number);
  const live = make('div', {'aria-live': 'polite', 'aria-atomic': 'true'}, what, line, range, doubt, more);
  const keep = make('button', {type: 'button', onclick: () => {
    const {area, period} = store.get();
    store.set({other: {area, period}, tab: 'compare'});
  }}, 'Compare with this');
  const everything = () => store.set({area: null, period: null});
  const leave = () =>
    make('button', {type: 'button', class: 'plain', onclick: everything}, 'Clear: whole map, all times');
  const clear = make('button', {type: 'button', class: 'plain', onclick: everything}, 'Whole map, all times');
  const buttons = make('div', {class: 'panel-foot'}, keep, clear, csvButton('the answer', 'answer', facts, rows));
  const summary = make('summary', {}, 'What the interval covers');
  const covers = make('details', {class: 'covers'}, summary, sentence(facts.error_bars));
  const typed = copyable('In a terminal: ');
  const trouble = make('div', {role: 'status'});
  const body = make('div', {class: 'answer-body'}, live, where, buttons, covers, typed.element);
  element.replaceChildren(make('h2', {class: 'sr'}, 'The answer'), body, trouble);

  /** @returns {Table} */
  function rows() {
    const names = ['area', 'cells', 'start', 'end', ...ANSWER, 'share_of_map'];
    const {area, time, value, standard_error: error, low, high, share_of_map: share} = shown;
    const when = instants([time.first, time.last], facts);
    return [names, [[place(asked.area), area.cells, ...when, value, error, low, high, share]]];
  }

  function show([answer, map], question) {
    [shown, asked] = [answer, question];
    const {area, zone} = question;
    /** @type {Span} */
    const period = [answer.time.first, answer.time.last];
    body.hidden = false;
    trouble.replaceChildren();
    const {value, unit} = figure(answer);
    const [whose, when] = [place(area), span(period, facts, zone)].map((text) => make('b', {}, text));
    what.replaceChildren('Consumption of ', whose, ', ', when, ` (${zoneName(zone)})`);
    number.replaceChildren(value, make('span', {class: 'answer-unit'}, ` ${unit}`));
    for (const name of ['value', 'low', 'high']) number.dataset[name] = answer[name];
    range.textContent = interval(answer);
    const doubts = [vague(answer) && VAGUE, answer.value < 0 && NEGATIVE].filter(Boolean);
    doubt.hidden = !doubts.length;
    doubt.textContent = doubts.join(' ');
    more.textContent = [area && shareInWords(answer, map), average(answer, period, facts)].filter(Boolean).join(' ');
    more.hidden = !more.textContent;
    const {cells} = answer.area;
    const named = area?.name && shape(area);  // so that a name cannot stand for more than it is
    where.textContent = [named, cellCount(cells), size(cells, facts), extent(area, facts)].filter(Boolean).join(' · ');
    clear.hidden = !area && !question.period;
    typed.show(command(question, facts));
  }

  follow(store, element, {
    question: ({area, period, zone}) => ({area, period, zone}),
    ask({area, period}) {
      const time = period ?? all;
      return Promise.all([api.query({area, time}), area && api.query({time})]);
    },
    show,
    fail(text) {
      body.hidden = true;
      trouble.replaceChildren(sentence(text, 'trouble'), ...(text ? [leave()] : []));
    },
  });
}
