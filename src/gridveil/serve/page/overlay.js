/** Stub. */
export function mount() {}
