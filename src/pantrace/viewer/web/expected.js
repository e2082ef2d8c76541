// The calls that were expected beside those that were made.
import { h } from './dom.js';
import { callArguments, text } from './texts.js';

export function expectedCalls(page, go) {
  const { wanted, made, pairs, answer } = page.expected;
  const partner = new Map(pairs.map(([one, two]) => [two, one]));
  // The same tool with other arguments is no match, but it is what was done instead.
  const taken = new Set(pairs.map(([one]) => one));
  wanted.forEach((call, place) => {
    if (partner.has(place)) return;
    const instead = made.findIndex((each, at) => !taken.has(at) && each.name === call.name);
    if (instead < 0) return;
    partner.set(place, instead);
    taken.add(instead);
  });
  const matched = new Set(pairs.map(([, two]) => two));
  const rows = [];
  let next = 0;
  const extras = (until) => {
    for (; next < until; next += 1) if (!taken.has(next)) rows.push([null, made[next], 'extra']);
  };
  wanted.forEach((call, place) => {
    const found = partner.get(place);
    if (found === undefined) return rows.push([call, null, 'missing']);
    extras(found);
    rows.push([call, made[found], matched.has(place) ? 'same' : 'changed']);
  });
  extras(made.length);
  const times = (kind) => rows.filter((row) => row[2] === kind).length;
  const words = [['changed', 'with other arguments'], ['missing', 'missing'], ['extra', 'not expected']].filter(([kind]) => times(kind)).map(([kind, each]) => times(kind) + ' ' + each);
  return h('div.expected', {},
    wanted.length || made.length ? h('p', {}, h('b', {}, pairs.length + ' of ' + wanted.length), ' expected calls were made', words.map((each) => ', ' + each), '.') : null,
    rows.length ? h('div.wide', {}, h('table.aligned', {}, h('thead', {}, h('tr', {}, h('th', {}, 'expected'), h('th', {}, 'made'))),
      h('tbody', {}, rows.map(([one, two, kind]) => h('tr', { class: kind },
        h('td', {}, one ? callCell(one) : h('span.quiet', {}, 'not expected')),
        h('td', {}, two ? [callCell(two), h('button.link', { type: 'button', onclick: () => go(two.row) }, 'step ' + (two.row + 1)), kind === 'changed' ? h('span.badge.warn', {}, 'other arguments') : null] : h('span.quiet', {}, 'not made'))))))) : null,
    answer ? h('section', {}, h('h3', {}, 'Expected answer'), text(answer, { prose: true })) : null);
}

function callCell(call) {
  return h('div', {}, h('b', {}, call.name), call.arguments === undefined || call.arguments === null ? null : callArguments(call.arguments), call.reason ? h('div.quiet', {}, call.reason) : null);
}
