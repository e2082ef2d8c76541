// A plot is a picture: whatever is in it cannot run.
import { h } from './dom.js';
import { imageAddress } from './source.js';

export function plot({ title, key }) {
  const image = h('img', { alt: title });
  imageAddress(key, 'image/svg+xml').then((address) => { image.src = address; }, (error) => image.replaceWith(h('p.trouble', {}, error.message)));
  return h('figure', {}, image);
}
