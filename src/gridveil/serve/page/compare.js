// compare: a first stub, so that main.js can import it.
export function mount(element, store, api) {}
