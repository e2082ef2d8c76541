// The calls that were expected beside those that were made.
import { h } from './dom.js';
import { callArguments, text } from './texts.js';

export function expectedCalls(page, go) {
  const { wanted, made, pairs, answer } = page.expected;
  const partner = new Map(pairs.map(([one, two]) => [two, one]));
  const rows = [];
  let next = 0;
  wanted.forEach((call, place) => {
    const found = partner.get(place);
    if (found === undefined) return rows.push([call, null]);
    while (next < found) rows.push([null, made[next++]]);
    rows.push([call, made[found]]);
    next = Math.max(next, found + 1);
  });
  while (next < made.length) rows.push([null, made[next++]]);
  const missing = rows.filter(([, call]) => !call).length;
  const extra = rows.filter(([call]) => !call).length;
  return h('div.expected', {},
    wanted.length || made.length ? h('p', {}, h('b', {}, pairs.length + ' of ' + wanted.length), ' expected calls were made', missing ? ', ' + missing + ' are missing' : '', extra ? ', ' + extra + ' more were made' : '', '.') : null,
    rows.length ? h('div.wide', {}, h('table.aligned', {}, h('thead', {}, h('tr', {}, h('th', {}, 'expected'), h('th', {}, 'made'))),
      h('tbody', {}, rows.map(([one, two]) => h('tr', { class: one && two ? 'same' : one ? 'missing' : 'extra' },
        h('td', {}, one ? callCell(one) : h('span.quiet', {}, 'not expected')),
        h('td', {}, two ? [h('button.link', { type: 'button', onclick: () => go(two.row) }, 'step ' + (two.row + 1)), callCell(two)] : h('span.quiet', {}, 'not made'))))))) : null,
    answer ? h('section', {}, h('h3', {}, 'Expected answer'), text(answer, { prose: true })) : null);
}

function callCell(call) {
  return h('div', {}, h('b', {}, call.name), call.arguments === undefined || call.arguments === null ? null : callArguments(call.arguments), call.reason ? h('div.quiet', {}, call.reason) : null);
}
