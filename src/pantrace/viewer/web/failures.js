// Why samples did not pass: by what went wrong in them, and by what the profile or the recording says.
import { h } from './dom.js';
import { count } from './words.js';

const EXAMPLES = 6;

export function failureGroups(run, table, show) {
  const causes = table.causes?.groups || [];
  const reasons = table.reasonWords.map((words, reason) => ({ words, reason, samples: table.reasons.reduce((places, each, place) => (each.includes(reason) ? (places.push([place, null]), places) : places), []) })).sort((one, two) => two.samples.length - one.samples.length);
  if (!causes.length && !reasons.length) return h('p.nothing-here', {}, table.causes?.sentence || 'No sample failed.');
  const most = (groups) => Math.max(...groups.map((each) => each.samples.length));
  return h('div.failures', {},
    causes.length ? [h('h2', {}, 'What went wrong'), h('p.quiet', {}, table.causes.sentence + ' ' + table.causes.counts + '. Each sample stands under one cause; a link leads to the step where it shows.'),
      causes.map((each, place) => group(run, table, each.samples, most(causes), each.title, () => show({ cause: String(place) }), [
        [each.seen, each.waste && each.waste !== 'nothing' ? each.waste + ' spent behind that step' : ''].filter(Boolean).join('; '),
        ...each.errors.map(([text, times]) => (times > 1 ? count(times) + ' × ' : '') + text),
      ]))] : null,
    reasons.length ? [h('h2', {}, 'As it was decided'), reasons.map((each) => group(run, table, each.samples, most(reasons), each.words, () => show({ reason: String(each.reason) }), []))] : null);
}

function group(run, table, samples, most, title, show, words) {
  return h('section', {},
    h('div.number-line', {}, h('b', {}, count(samples.length)), h('span.words', {}, title), h('span.grow'), h('button.link', { type: 'button', onclick: show }, 'show in the table')),
    h('span.failure-bar', { style: { width: (samples.length / most) * 100 + '%' } }),
    words.filter(Boolean).map((each) => h('p.quiet', {}, each)),
    h('div.examples', {}, samples.slice(0, EXAMPLES).map(([place, row]) => h('a', { href: '#/run/' + run.key + '/sample/' + encodeURIComponent(table.key[place]) + (row != null ? '/step/' + (row + 1) : '') }, table.key[place], row != null ? h('span.quiet', {}, ' step ' + (row + 1)) : null)),
      samples.length > EXAMPLES ? h('span.quiet', {}, 'and ' + count(samples.length - EXAMPLES) + ' more') : null));
}
