// Two runs against each other: the verdict, the numbers, the cases that changed, and two trajectories side by side.
import { h, replace } from './dom.js';
import { allHeads, json, withCuts } from './source.js';
import { drawStep, stepShell } from './step.js';
import { plainCuts } from './copying.js';
import { plot } from './plots.js';
import { tableOf } from './run_page.js';
import { diff } from './diff.js';
import { inUnit, number, plural } from './words.js';

const WORST = 400;

export async function comparePage(site, route) {
  const found = site.comparisons.find((each) => String(each.first) === route.first && String(each.second) === route.second);
  if (!found) return null;
  const sides = [site.runs[found.first], site.runs[found.second]];
  const view = new CompareView(site, found, sides, await Promise.all(sides.map(tableOf)));
  await view.draw(route.case);
  return view;
}

class CompareView {
  constructor(site, found, sides, tables) {
    Object.assign(this, { site, found, sides, tables });
    this.title = sides[1].name + ' against ' + sides[0].name;
    this.element = h('main.compare');
  }

  async draw(wanted) {
    const { found, sides } = this;
    const flips = changed(found.rows);
    this.pair = h('div.pair');
    replace(this.element, h('div.scroll', {},
      h('h1', {}, h('span.side.a', {}, 'A'), ' ', sides[0].name, h('span.quiet', {}, ' against '), h('span.side.b', {}, 'B'), ' ', sides[1].name),
      h('p.verdict', {}, sentence(found.rows)),
      h('div.wide', {}, h('table.comparison', {},
        h('thead', {}, h('tr', {}, ['metric', 'A', 'B', 'difference', 'p (Holm)', 'won / lost / tied', 'verdict'].map((words) => h('th', { class: ['metric', 'verdict'].includes(words) ? '' : 'digits' }, words)))),
        h('tbody', {}, found.rows.map(comparisonRow)))),
      found.plots.length ? h('details', {}, h('summary', {}, 'Plots'), h('div.plots', {}, found.plots.map(plot))) : null,
      h('h2', {}, flips.length ? 'Cases that changed' : 'Cases'),
      h('div.cases', {}, this.cases(flips).map(({ name, flip }) => h('a.case', { href: this.address(name), class: flip ? (flip.after > flip.before ? 'up' : 'down') : '', 'aria-current': name === wanted ? 'true' : null },
        h('b', {}, name), flip ? h('span', {}, flip.metric + ': ' + flip.words(flip.before) + ' → ' + flip.words(flip.after)) : h('span.quiet', {}, 'no change')))),
      this.pair));
    if (wanted) await this.sideBySide(wanted);
  }

  address(name) {
    return '#/compare/' + this.found.first + '/' + this.found.second + '/case/' + encodeURIComponent(name);
  }

  place(side, name) {
    const table = this.tables[side];
    const byKey = table.key.indexOf(name);
    return byKey >= 0 ? byKey : table.id.indexOf(name);
  }

  cases(flips) {
    const named = flips.map((flip) => ({ name: this.sampleName(flip.case), flip }));
    const seen = new Set(named.map(({ name }) => name));
    const common = this.tables[0].key.filter((key) => !seen.has(key) && this.place(1, key) >= 0).map((name) => ({ name }));
    return [...named, ...common].slice(0, WORST);
  }

  // Scores are paired by case, samples are found by their own names.
  sampleName(name) {
    return this.place(0, name) >= 0 ? name : this.tables[0].key.find((key) => key.startsWith(name)) || name;
  }

  async sideBySide(name) {
    const columns = await Promise.all([0, 1].map((side) => this.records(side, name)));
    const rows = aligned(columns[0], columns[1]);
    const kinds = rows.reduce((counts, [kind]) => ({ ...counts, [kind]: (counts[kind] || 0) + 1 }), {});
    replace(this.pair, h('h2', {}, name), h('p.quiet', {}, [plural(kinds.same || 0, 'step') + ' alike', kinds.changed && kinds.changed + ' with other arguments or words', kinds['only-a'] && kinds['only-a'] + ' only in A', kinds['only-b'] && kinds['only-b'] + ' only in B'].filter(Boolean).join(', ')),
      h('div.pair-head', {}, [0, 1].map((side) => h('a', { href: '#/run/' + this.sides[side].key + '/sample/' + encodeURIComponent(name) }, h('span.side', { class: 'ab'[side] }, 'AB'[side]), ' ', this.sides[side].name))),
      rows.slice(0, WORST).map(([kind, one, two]) => [h('div.pair-row', { class: kind }, [one, two].map((each, side) => (each ? this.step(each, side, name) : h('div.nothing', {}, 'not in ' + 'AB'[side])))), kind === 'changed' ? difference(one, two) : null]),
      rows.length > WORST ? h('p.quiet', {}, 'The first ' + WORST + ' of ' + rows.length + ' rows.') : null);
    this.pair.scrollIntoView({ block: 'start' });
  }

  async records(side, name) {
    const table = this.tables[side];
    const place = this.place(side, name);
    if (place < 0) return [];
    const page = (await json(table.block[place]))[table.key[place]];
    await allHeads(page);
    const found = [];
    for (const [first, , key, chunk] of page.chunks) {
      const records = (await json(key))[chunk];
      records.forEach((record, at) => found.push({ record: withCuts(record), place: first + at, head: Object.fromEntries(Object.entries(page.heads).map(([column, values]) => [column, values[first + at]])) }));
      if (found.length > WORST * 2) break;
    }
    return found;
  }

  step({ record, place, head }, side, name) {
    const address = (step) => '#/run/' + this.sides[side].key + '/sample/' + encodeURIComponent(name) + '/step/' + step;
    const shell = stepShell(head, place, place + 1);
    shell.removeAttribute('id');
    return drawStep(shell, head, place + 1, record, { folded: true, address, link: () => {}, toggleRaw: () => {} });
  }

  key(name) {
    if (name !== 'n' && name !== 'p') return false;
    const links = [...this.element.querySelectorAll('a.case')];
    const at = links.findIndex((each) => each.getAttribute('aria-current'));
    links[Math.max(0, Math.min(links.length - 1, at + (name === 'n' ? 1 : -1)))]?.click();
    return true;
  }

  close() {}
}

// What exactly differs between two steps that do the same.
function difference(one, two) {
  const [before, after] = [one, two].map(({ record }) => (record.steps[0].parts || []).filter((part) => part.type !== 'thinking' && part.type !== 'unknown').map(readable).join('\n'));
  return before === after || before.length + after.length > 20000 ? null : h('details.difference', { open: true }, h('summary', {}, 'What differs'), diff(before, after));
}

function readable(part) {
  if (part.type === 'call') return part.name + ' ' + JSON.stringify(part.arguments, plainCuts, 1);
  if (part.type === 'result') return '→ ' + (typeof part.output === 'string' ? part.output : JSON.stringify(part.error ?? part.output, plainCuts, 1));
  return part.text == null ? JSON.stringify({ kind: part.kind, target: part.target }, plainCuts) : String(part.text);
}

function comparisonRow(row) {
  return h('tr', {}, h('td', {}, h('b', {}, row.metric), row.sentence ? h('div.quiet', {}, row.sentence) : null), h('td.digits', {}, estimate(row.first, row.unit)), h('td.digits', {}, estimate(row.second, row.unit)), h('td.digits', {}, estimate(row.difference, row.unit, true)),
    h('td.digits', {}, row.p_adjusted == null ? '' : number(row.p_adjusted)), h('td.digits', {}, row.wins == null ? '' : row.wins + ' / ' + row.losses + ' / ' + row.ties),
    h('td', { title: [row.difference?.method, ...(row.notes || [])].filter(Boolean).join('; ') }, h('span.verdict-word', { class: row.verdict }, row.verdict)));
}

function estimate(each, unit, signed) {
  if (!each) return '–';
  const shown = signed ? (value) => (value > 0 ? '+' : '') + (unit === 'share' ? inPoints(value) : inUnit(value, unit)) : (value) => inUnit(value, unit);
  return [h('b', {}, shown(each.value)), each.low != null ? h('div.quiet', {}, shown(each.low) + ' to ' + shown(each.high)) : null];
}

// The difference of two shares: 5 points, which is not 5 % more.
function inPoints(share) {
  return number(Math.round(share * 1000) / 10) + ' points';
}

function sentence(rows) {
  const by = (verdict) => rows.filter((row) => row.verdict === verdict).map((row) => row.metric);
  const parts = [['better', 'B is better on '], ['worse', 'B is worse on '], ['higher', 'B is higher on '], ['lower', 'B is lower on '], ['equivalent', 'A and B are equivalent on ']].map(([verdict, words]) => [words, by(verdict)]).filter(([, names]) => names.length).map(([words, names]) => words + list(names));
  const open = by('inconclusive');
  const same = by('no change');
  if (!rows.length) return 'These runs share no metric.';
  if (!parts.length && !open.length) return 'Nothing changed between A and B.';
  if (!parts.length) return 'Nothing is decided: ' + (open.length === 1 ? 'the difference on ' + open[0] + ' may be noise.' : 'all ' + open.length + ' differences may be noise.');
  return parts.join('; ') + (open.length ? '; ' + (open.length === 1 ? open[0] + ' may be noise' : open.length + ' other differences may be noise') : '') + (same.length ? '; ' + same.length + ' without any change' : '') + '.';
}

function list(names) {
  return names.length > 4 ? names.slice(0, 3).join(', ') + ' and ' + (names.length - 3) + ' more' : names.join(', ');
}

function changed(rows) {
  const seen = new Map();
  for (const row of rows) for (const flip of row.flips || []) if (!seen.has(flip.case)) seen.set(flip.case, { ...flip, metric: row.metric, words: row.kind === 'binary' ? (each) => (each === 1 ? 'yes' : each === 0 ? 'no' : number(each)) : number });
  return [...seen.values()];
}

// What a step does, and what exactly: steps are paired by the first, told apart by the second.
function signs({ record, head }) {
  const calls = (record.steps[0].parts || []).filter((part) => part.type === 'call' || part.type === 'action');
  const exact = calls.length ? calls.map((part) => [part.name || part.kind, part.arguments ?? part.target ?? part.text]) : (record.steps[0].parts || []).map((part) => part.text ?? '');
  return { rough: head.role + ' ' + calls.map((part) => part.name || part.kind).join(','), exact: JSON.stringify(exact) };
}

function aligned(one, two) {
  const a = one.map(signs);
  const b = two.map(signs);
  const worth = (i, j) => (a[i].exact === b[j].exact && a[i].rough === b[j].rough ? 3 : a[i].rough === b[j].rough ? 2 : 0);
  const best = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const here = worth(i, j);
      best[i][j] = Math.max(best[i + 1][j], best[i][j + 1], here ? here + best[i + 1][j + 1] : 0);
    }
  }
  const rows = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const here = i < a.length && j < b.length ? worth(i, j) : 0;
    if (here && best[i][j] === here + best[i + 1][j + 1]) {
      rows.push([here === 3 ? 'same' : 'changed', one[i], two[j]]);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && best[i + 1][j] >= best[i][j + 1])) {
      rows.push(['only-a', one[i], null]);
      i += 1;
    } else {
      rows.push(['only-b', null, two[j]]);
      j += 1;
    }
  }
  return rows;
}
