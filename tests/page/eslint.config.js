/** What ESLint looks for on the page: mistakes, not style. */

import js from '@eslint/js';

const markup = (property) => ({property, message: 'Text goes in as text: use make() of dom.js.'});

export default [
  {
    files: ['src/gridveil/serve/static/*.js'],
    linterOptions: {reportUnusedDisableDirectives: 'error'},
    rules: {
      ...js.configs.recommended.rules,
      'no-undef': 'off', // tsc knows the names of browsers
      'no-unused-vars': ['error', {argsIgnorePattern: '^_'}],
      'consistent-return': 'error',
      eqeqeq: ['error', 'always', {null: 'ignore'}],
      'no-console': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-param-reassign': 'error',
      'no-restricted-properties': ['error', ...['innerHTML', 'outerHTML', 'insertAdjacentHTML'].map(markup)],
      'no-var': 'error',
      'prefer-const': 'error',
    },
  },
];
