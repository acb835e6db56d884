/** Tabs by the usual keys: left, right, home, end; only the chosen one is in the tab order. Own areas need borders. */

import {view} from './map.js';
import {TABS} from './state.js';

/** @type {Mount} */
export function mount(element, store) {
  const tab = (name) => document.getElementById(`tab-${name}`);

  function show({tab: chosen}) {
    for (const name of TABS) {
      tab(name).hidden = name === 'areas' && chosen !== name && !view.shapes.some(({area}) => area);
      tab(name).setAttribute('aria-selected', String(name === chosen));
      tab(name).tabIndex = name === chosen ? 0 : -1;
      document.getElementById(`panel-${name}`).hidden = name !== chosen;
    }
  }

  element.addEventListener('click', ({target}) => {
    const name = TABS.find((each) => tab(each) === target);
    if (name) store.set({tab: name});
  });
  element.addEventListener('keydown', (event) => {
    const offered = TABS.filter((name) => !tab(name).hidden);
    const at = offered.indexOf(store.get().tab);
    const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: offered.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = offered[(to + offered.length) % offered.length];
    store.set({tab: name});
    tab(name).focus();
  });
  store.subscribe(show);
  document.addEventListener('borders', () => show(store.get()));
  show(store.get());
}
