/** The privacy label in plain words, always one click away. */

import {draw, make} from './dom.js';
import {joined} from './words.js';

const HIGH = 5;
const LEAD =
  'Random noise was added before these numbers were published. It limits what anyone can learn from them about any ' +
  'one household; how far is said below. The stronger the limit, the wider the error bars.';
const ATTACKER =
  'How often someone who knows everything else can tell two worlds apart that differ in one household: true-positive ' +
  'rate at 1 % false positives. Guessing reaches 1 %.';
const EPSILON = 'Epsilon says how strongly every household is protected: the smaller, the stronger';

const say = (text, kind) => make('p', {class: kind}, joined(text));
const list = (lines) => make('ul', {}, ...lines.map((line) => make('li', {}, joined(line))));
const part = (heading, ...children) => [make('h3', {}, heading), ...children];
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** "ε = 3", and whether that is so high that it must be said. */
export function strength({epsilon}) {
  const text = `ε = ${Number(epsilon.toPrecision(6))}`;  // 4.996 is not 5
  return epsilon >= HIGH ? {text: `${text}, high`, high: true} : {text, high: false};
}

/** Where on a ruler from 0.1 to 30, by ratio, an epsilon is: 0 to 1. */
export const place = (epsilon) => Math.min(Math.max(Math.log(epsilon / 0.1) / Math.log(300), 0), 1);

/** A ruler of epsilon, so that the number means something. */
function ruler(epsilon, these) {
  const [left, width] = [10, 580];
  const at = (value) => left + place(value) * width;
  const {text} = strength({epsilon});
  const line = (from, to, stroke) => draw('line',
    {x1: at(from), x2: at(to), y1: 34, y2: 34, stroke, 'stroke-width': 6, 'stroke-linecap': 'round'});
  const below = (x, anchor, words) => draw('text', {x, y: 60, 'text-anchor': anchor}, words);
  const name = `${text} on a scale from 0.1, strong protection, to 30, hardly any`;
  return draw('svg', {viewBox: '0 0 600 64', class: 'ruler', role: 'img', 'aria-label': name},
    line(0.1, HIGH, 'var(--released)'),
    line(HIGH, 30, 'var(--warn-edge)'),
    draw('circle', {cx: at(epsilon), cy: 34, r: 8, fill: 'var(--card)', stroke: 'var(--ink)', 'stroke-width': 3}),
    draw('text', {x: Math.min(Math.max(at(epsilon), 90), 510), y: 15, 'text-anchor': 'middle', class: 'here'},
      `${these}: ${text}`),
    below(left, 'start', '0.1 stronger'),
    below(at(1), 'middle', '1'),
    below(at(HIGH), 'middle', `${HIGH}`),
    below(left + width, 'end', 'weaker 30'));
}

/** Rounded up to some digits: "at most" must not become less. */
const up = (value, digits) => {
  const unit = 10 ** (Math.floor(Math.log10(value)) + 1 - digits);
  return Number((Math.ceil(value / unit - 1e-9) * unit).toPrecision(digits));
};

/** Rates as the label prints them: three digits, and more where those would pass for certainty. */
const percent = (rate) => `${up(100 * rate, 3) === 100 ? up(100 * rate, 6) : up(100 * rate, 3)} %`;

/** Pairs of worlds that differ in one household, and how well they can be told apart from some releases. */
function attackRates({releases, rates}) {
  return make('table', {class: 'attack-rates'},
    make('thead', {}, make('tr', {},
      ...[`From ${releases}`, 'loss', 'at most'].map((name) => make('th', {scope: 'col'}, joined(name))))),
    make('tbody', {}, ...rates.map((rate) => make('tr', {},
      make('th', {scope: 'row'}, joined(rate.worlds)),
      make('td', {}, `${Number(rate.loss.toPrecision(6))}`),
      make('td', {}, percent(rate.true_positive_rate))))));
}

/** What is promised; of a release that is not private there is nothing to explain. */
function promised({privacy, private: isPrivate, label}) {
  if (!isPrivate) return [];
  const these = label.parts?.length > 1 ? `these ${label.parts.length} releases` : 'this release';
  return [
    say(LEAD, 'lead'),
    ...part('What is protected', say(`${capital(privacy.unit)}.`)),
    ...part('How strongly',
      ruler(privacy.epsilon, these), say(privacy.promise)),
    ...part('What an attacker can learn', say(ATTACKER), ...privacy.attack_statements.map(attackRates)),
    ...part('What that does not mean',
      say('These are outside the promise, or outside the error bars:'), list(privacy.not_covered)),
  ];
}

function body(facts) {
  const full = facts.label_in_words.flatMap(({heading, lines}) => part(heading, list(lines)));
  const scrolling = {tabindex: 0, role: 'region', 'aria-label': 'The label as data'};
  const data = make('pre', scrolling, JSON.stringify(facts.label, null, 2));
  return make('div', {},
    make('h2', {id: 'label-name'}, 'How private is this?'),
    ...facts.privacy.warnings.map((text) => say(text, 'banner')),
    ...promised(facts),
    ...(facts.together ? part('Several releases', say(facts.together)) : []),
    ...part('What the error bars say', say(facts.error_bars)),
    make('details', {}, make('summary', {}, 'How it was made: the whole label in words'), ...full),
    make('details', {}, make('summary', {}, 'The label as data'), data),
    ...(facts.cite ? part('How to cite', say(facts.cite)) : []));
}

/** @type {Mount<HTMLDialogElement>} */
export function mount(element, store) {
  const facts = store.release;
  const button = document.getElementById('how-private');
  const chip = document.getElementById('epsilon');
  const {text, high} = strength(facts.privacy);
  chip.textContent = facts.private ? text : 'not private';
  chip.classList.toggle('high', high || !facts.private);
  button.title = facts.privacy.warnings[0] ?? EPSILON;
  const banner = document.getElementById('banner');
  const sentence = facts.privacy.warnings.join(' ');
  banner.textContent = sentence;
  banner.hidden = !sentence;

  const shut = () => element.close();
  const close = make('button', {type: 'button', class: 'close', 'aria-label': 'Close', onclick: shut}, '✕');
  element.append(close, body(facts));
  button.addEventListener('click', () => {
    element.showModal();
    element.scrollTop = 0;
  });
  element.addEventListener('click', (event) => event.target === element && element.close());
}
