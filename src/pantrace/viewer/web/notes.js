// What a reader must know first: what was left out, what could not be read.
import { h } from './dom.js';
import { plural } from './words.js';

const SEEN = 3;

function box(found) {
  return found.length ? h('div.note-box', { role: 'note' }, found.slice(0, SEEN).map((each) => h('p', {}, each)), found.length > SEEN ? h('details', {}, h('summary', {}, plural(found.length - SEEN, 'more note')), found.slice(SEEN).map((each) => h('p', {}, each))) : null) : null;
}

function ofSite(site) {
  return [...site.dropped.map((words) => 'Left out to keep this file small: ' + words + '.'), ...site.notes];
}

export function siteNotes(site) {
  return box(ofSite(site));
}

// On the page of a run that opens at once, since it is the only one, all is told.
export function runNotes(site, run) {
  return box([...(site.runs.length === 1 ? ofSite(site) : []), ...run.notes]);
}

// The same for the only sample of the only run.
export function sampleNotes(site, run, table) {
  return site.runs.length === 1 && table.size === 1 ? runNotes(site, run) : null;
}
