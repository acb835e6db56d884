/** The privacy label in plain words, always one click away. */

import {number} from './words.js';

const HIGH = 5;
const SVG = 'http://www.w3.org/2000/svg';

function make(tag, text = '', ...children) {
  const element = Object.assign(document.createElement(tag), {textContent: text});
  element.append(...children);
  return element;
}

const list = (lines) => make('ul', '', ...lines.map((line) => make('li', line)));
const part = (heading, ...children) => [make('h3', heading), ...children];

/** "ε = 3", and whether that is so high that it must be said. */
export function strength({epsilon}) {
  const text = `ε = ${Number(epsilon.toPrecision(3))}`;
  return epsilon >= HIGH ? {text: `${text}, high`, high: true} : {text, high: false};
}

/** Where on a ruler from 0.1 to 30, by ratio, an epsilon is: 0 to 1. */
export const place = (epsilon) => Math.min(Math.max(Math.log(epsilon / 0.1) / Math.log(300), 0), 1);

function draw(tag, attributes, text = '') {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

/** A ruler of epsilon, so that the number means something. */
function ruler(epsilon) {
  const [left, width] = [10, 580];
  const at = (value) => left + place(value) * width;
  const svg = draw('svg', {viewBox: '0 0 600 64', class: 'ruler', role: 'img', 'aria-label': `Epsilon ${number(epsilon, 2)} on a scale from 0.1, strong protection, to 30, hardly any`});
  svg.append(
    draw('line', {x1: at(0.1), x2: at(HIGH), y1: 34, y2: 34, stroke: 'var(--released)', 'stroke-width': 6, 'stroke-linecap': 'round'}),
    draw('line', {x1: at(HIGH), x2: at(30), y1: 34, y2: 34, stroke: 'var(--warn-edge)', 'stroke-width': 6, 'stroke-linecap': 'round'}),
    draw('circle', {cx: at(epsilon), cy: 34, r: 8, fill: 'var(--card)', stroke: 'var(--ink)', 'stroke-width': 3}),
    draw('text', {x: Math.min(Math.max(at(epsilon), 90), 510), y: 15, 'text-anchor': 'middle', class: 'here'}, `this release: ${strength({epsilon}).text}`),
    draw('text', {x: left, y: 60}, '0.1 stronger'),
    draw('text', {x: at(1), y: 60, 'text-anchor': 'middle'}, '1'),
    draw('text', {x: at(HIGH), y: 60, 'text-anchor': 'middle'}, `${HIGH}`),
    draw('text', {x: left + width, y: 60, 'text-anchor': 'end'}, 'weaker 30'),
  );
  return svg;
}

function body(facts) {
  const {privacy} = facts;
  const name = make('h2', 'How private is this?');
  name.id = 'label-name';
  const warnings = privacy.warnings.map((text) => Object.assign(make('p', text), {className: 'banner'}));
  const lead = Object.assign(make('p', 'Random noise was added before these numbers were published. It limits what anyone can learn from them about any one household; how far is said below. The stronger the limit, the wider the error bars.'), {className: 'lead'});
  const full = facts.label_in_words.flatMap(({heading, lines}) => part(heading, list(lines)));
  const data = Object.assign(make('pre', JSON.stringify(facts.label, null, 2)), {tabIndex: 0}); // it scrolls, by keyboard too
  data.setAttribute('role', 'region');
  data.setAttribute('aria-label', 'The label as data');
  // Of a release that is not private there is no promise to explain.
  const promise = () => [
    lead,
    ...part('What is protected', make('p', `${capital(privacy.unit)}.`)),
    ...part('How strongly', ruler(privacy.epsilon), make('p', privacy.promise), make('p', `${privacy.attack} Guessing blindly would reach 1 %.`)),
    ...part('What that does not mean', make('p', 'These are outside the promise, or outside the error bars:'), list(privacy.not_covered)),
  ];
  return make('div', '',
    name,
    ...warnings,
    ...(facts.private ? promise() : []),
    ...part('What the error bars say', make('p', facts.error_bars)),
    make('details', '', make('summary', 'How it was made: the whole label in words'), ...full),
    make('details', '', make('summary', 'The label as data'), data),
    ...(facts.cite ? part('How to cite', make('p', facts.cite)) : []),
  );
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export function mount(element, store) {
  const facts = store.release;
  const button = document.getElementById('how-private');
  const chip = document.getElementById('epsilon');
  const {text, high} = strength(facts.privacy);
  chip.textContent = facts.private ? text : 'not private';
  chip.classList.toggle('high', high || !facts.private);
  button.title = facts.privacy.warnings[0] ?? 'Epsilon says how strongly every household is protected: the smaller, the stronger';
  const banner = document.getElementById('banner');
  const sentence = facts.privacy.warnings.join(' ');
  banner.textContent = sentence;
  banner.hidden = !sentence;

  const close = Object.assign(make('button', '✕'), {type: 'button', className: 'close'});
  close.setAttribute('aria-label', 'Close');
  close.addEventListener('click', () => element.close());
  element.append(close, body(facts));
  button.addEventListener('click', () => {
    element.showModal();
    element.scrollTop = 0;
  });
  element.addEventListener('click', (event) => event.target === element && element.close());
}
