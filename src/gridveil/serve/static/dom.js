/** Making elements. Text goes in as text: nothing that a release or a link says can become markup. */

const SVG = 'http://www.w3.org/2000/svg';

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {E}
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, String(value));
  }
  const given = children.filter((child) => child != null && child !== '' && child !== false);
  element.append(.../** @type {(Node | string)[]} */ (given));
  return element;
}

/**
 * An element with attributes (on…: a listener) and children, which may be text; false, null and '' are none.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

/**
 * The same of a drawing.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export const draw = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/**
 * A small picture from a path in a square of 16.
 * @param {string} path
 */
export const icon = (path) => draw('svg', {viewBox: '0 0 16 16', 'aria-hidden': 'true'}, draw('path', {d: path}));
