/** Opens a release and wires the page together. */

import {api, Refusal} from './api.js';
import {store, fromHash, toHash} from './state.js';
import {date, dates, duration, instant, joined, number} from './words.js';
import * as answer from './answer.js';
import * as clock from './clock.js';
import * as compare from './compare.js';
import * as curve from './curve.js';
import * as highest from './highest.js';
import * as label from './label.js';
import * as limits from './limits.js';
import * as map from './map.js';
import * as overlay from './overlay.js';
import * as pick from './pick.js';
import * as profile from './profile.js';
import * as save from './save.js';
import * as tabs from './tabs.js';

const PARTS = {
  tabs,
  map,
  tools: pick,
  clock,
  overlay,
  limits,
  answer,
  'panel-curve': curve,
  'panel-profile': profile,
  'panel-highest': highest,
  'panel-compare': compare,
  label,
  save,
};
const at = (id) => document.getElementById(id);

function say(sentence) {
  at('trouble').textContent = sentence ?? '';
  at('trouble').hidden = !sentence;
}

/** Offer the releases where there are several; another one is a fresh page, so nothing of the old one can linger. */
function offer(releases, chosen) {
  if (releases.length < 2) return;
  at('release').replaceChildren(...releases.map(({id, title}) => new Option(title || id, id, false, id === chosen)));
  at('release').addEventListener('change', ({target}) => {
    location.hash = `release=${encodeURIComponent(target.value)}`;
    location.reload();
  });
  at('chooser').hidden = false;
}

function head(facts) {
  const {time, x, y} = facts.axes;
  const [from, to] = [instant(0, facts), new Date(instant(time.steps, facts) - 1)];
  document.title = `${facts.title || facts.id} · gridveil`;
  at('title').textContent = facts.title || facts.id;
  const grid = `${number(x.size)} × ${number(y.size)} cells, every ${duration(time.step_seconds)}`;
  const by = [facts.publisher, facts.published && date(new Date(facts.published))].filter(Boolean).join(', ');
  const about = [`Household electricity, ${dates(from, to)}`, grid, by && `by ${by}`];
  at('about').textContent = about.filter(Boolean).join(' · ');
  at('errors-say').textContent = joined(facts.error_bars);
}

async function open() {
  api.onTrouble(say);
  const {releases} = await api.releases();
  if (!releases.length) throw new Refusal('No release to show. Start the server with one: gridveil serve RELEASE');
  const asked = fromHash(location.hash).release;
  const {id} = releases.find((each) => each.id === asked) ?? releases[0];
  if (asked && asked !== id) history.replaceState(null, '', toHash({release: id}));
  offer(releases, id);
  api.use(id);
  const facts = await api.facts();
  head(facts);
  store.open(facts);
  document.body.classList.remove('opening');
  for (const [name, part] of Object.entries(PARTS)) {
    try {
      part.mount(at(name), store, api);
    } catch (error) {
      reportError(error); // one broken part must not take the others along
    }
  }
  const named = facts.title || id;
  if (asked && asked !== id) say(`The link is about “${asked}”, which is not served here. This is “${named}”.`);
}

open().catch((error) => {
  if (at('trouble').hidden) say(error.message);
  at('title').textContent = 'No release is open';
  if (!(error instanceof Refusal)) throw error;
});
