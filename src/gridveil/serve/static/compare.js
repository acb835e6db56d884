/** Two selections side by side: two areas, two periods, or both; and whether they differ, as far as intervals tell. */

import {make} from './dom.js';
import {bar, barRange, csvButton, follow, instants, lasting, per, sentence, shareOf} from './panel.js';
import {ANSWER} from './table.js';
import {amount, figure, interval, place, rounded, span} from './words.js';

const INVITE =
  'Keep it as B, then mark another area on the map or another period on the curve: both are shown side by side.';
const ALIKE =
  'A and B are the same so far. Mark another area on the map, or another period on the curve: that becomes A.';

const NOISE_ONLY =
  'The intervals are about the added noise. How use is spread over cells and steps they cover in part at most, so ' +
  'true consumption may be the other way round.';

/** Which one is higher, said only where the intervals do not overlap, and of published values if they cover no more. */
export function verdict(a, b, aboutTheTruth) {
  const higher = a.low > b.high ? 'A' : b.low > a.high ? 'B' : null;
  if (!higher) return 'They may be equal: the intervals overlap.';
  return aboutTheTruth ? `${higher} is higher, if both intervals hold.` : `${higher}’s published value is higher.`;
}

/** A minus B, and how small and how large it is at most if both intervals hold. */
export const difference = (a, b) => ({value: a.value - b.value, low: a.low - b.high, high: a.high - b.low});

/** "A is 1.23 times B (1.10 to 1.38 times if both intervals hold)." */
export function ratioInWords(a, b) {
  const ratio = shareOf(a, b);
  if (!ratio) return 'How many times B that is cannot be said: B may be nothing at all.';
  const {value, low, high} = rounded(ratio);
  return `A is ${value} times B (${low} to ${high} times if both intervals hold).`;
}

/** Over how many steps to average two periods: null where equally long, a day where both have one, else one step. */
export function basis(lengths, seconds) {
  if (lengths[0] === lengths[1]) return null;
  const day = 86400 / seconds;
  return Number.isInteger(day) && lengths.every((steps) => steps >= day) ? day : 1;
}

const signed = (text) => (text.startsWith('−') ? text : `+${text}`);

/** @type {Mount} */
export function mount(element, store, api) {
  const facts = store.release;
  const {steps, step_seconds: seconds} = facts.axes.time;
  /** @type {Span} */
  const all = [0, steps];
  /** @type {Table} */
  let rows = [[], []];

  const keep = () => {
    const {area, period} = store.get();
    store.set({other: {area, period}});
  };
  const swap = () => {
    const {area, period, other} = store.get();
    store.set({area: other.area, period: other.period, other: {area, period}});
  };
  const button = (text, onclick, kind) => make('button', {type: 'button', class: kind, onclick}, text);

  /** What there is to do before anything is compared. */
  function invite({area, period, zone}) {
    element.replaceChildren(
      make('p', {}, 'Marked now: ', make('b', {}, place(area)), ', ',
        make('b', {}, span(period ?? all, facts, zone)), '.'),
      sentence(INVITE),
      make('div', {class: 'panel-foot'}, button('Compare with this', keep)),
    );
  }

  function entry(name, {area, period, total, shown}, range, unit, zone) {
    const kind = name.toLowerCase();
    const value = make('b', {class: kind, id: `compare-${kind}`}, `${amount(shown)}${unit}`);
    Object.assign(value.dataset, {value: total.value, low: total.low, high: total.high});
    return make('li', {},
      make('p', {}, make('b', {class: `tag ${kind}`}, name), ` ${place(area)}, ${span(period, facts, zone)}`),
      bar(shown, range, kind),
      make('p', {}, value, ` ${interval(shown)}`),
      unit && make('p', {class: 'quiet'}, `In total ${amount(total)}, ${interval(total)}.`));
  }

  function show(answers, {pair, zone}) {
    const lengths = answers.map(({time}) => time.last - time.first);
    const each = basis(lengths, seconds);
    const unit = each ? ` per ${lasting(each, facts)}` : '';
    const sides = answers.map((total, i) => ({
      area: pair[i].area,
      period: [total.time.first, total.time.last],
      total,
      shown: each ? per(total, lengths[i] / each) : total,
    }));
    const [a, b] = sides.map(({shown}) => shown);
    const range = barRange([a, b]);
    rows = csv(sides);
    const alike = JSON.stringify(pair[0]) === JSON.stringify(pair[1]);
    const gap = figure(difference(a, b));
    const findings = alike
      ? [sentence(ALIKE)]
      : [
        make('p', {class: 'verdict', id: 'compare-verdict'}, verdict(a, b, facts.about_the_truth)),
        !facts.about_the_truth && sentence(NOISE_ONLY),
        make('p', {}, 'A minus B: ', make('b', {}, `${signed(gap.value)} ${gap.unit}${unit}`),
          ` (${signed(gap.low)} to ${signed(gap.high)} ${gap.unit} if both intervals hold).`),
        make('p', {}, ratioInWords(a, b)),
        each && sentence(`The periods differ in length, so averages per ${lasting(each, facts)} are compared.`),
      ].filter(Boolean);
    element.replaceChildren(
      make('ul', {class: 'pair'}, entry('A', sides[0], range, unit, zone), entry('B', sides[1], range, unit, zone)),
      make('div', {class: 'findings', role: 'status'}, ...findings),
      make('div', {class: 'panel-foot'},
        button('See both curves', () => store.set({tab: 'curve'})),
        !alike && button('Swap A and B', swap),
        button('End', () => store.set({other: null}), 'plain'),
        csvButton('the comparison', 'comparison', facts, () => rows)),
    );
  }

  /** @returns {Table} */
  function csv(sides) {
    const names = ['which', 'area', 'cells', 'start', 'end', ...ANSWER];
    return [names, sides.map(({area, period, total}, i) => [
      'AB'[i], place(area), total.area.cells, ...instants(period, facts),
      total.value, total.standard_error, total.low, total.high,
    ])];
  }

  follow(store, element, {
    question({tab, area, period, other, zone}) {
      if (tab !== 'compare') return null;
      const pair = other && [{area, period}, other].map((each) => ({area: each.area, period: each.period ?? all}));
      return {pair, area, period, zone};
    },
    ask: async ({pair}) => pair && Promise.all(pair.map(({area, period}) => api.query({area, time: period}))),
    show: (answers, question) => (answers ? show(answers, question) : invite(question)),
    fail: (text) => element.replaceChildren(sentence(text, 'trouble')),
  });
}
