/** Tabs by the usual keys: left, right, home, end; only the chosen one is in the tab order. */

import {TABS} from './state.js';

export function mount(element, store) {
  const tab = (name) => document.getElementById(`tab-${name}`);

  function show({tab: chosen}) {
    for (const name of TABS) {
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
    const at = TABS.indexOf(store.get().tab);
    const to = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: TABS.length - 1}[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const name = TABS[(to + TABS.length) % TABS.length];
    store.set({tab: name});
    tab(name).focus();
  });
  store.subscribe(show);
  show(store.get());
}
