// Several runs beside each other: their measures, and how each case ended in each of them.
import { h } from './dom.js';
import { intervalBar, passRate } from './charts.js';
import { tableOf } from './run_page.js';
import { compact, count, duration, inUnit, money, percent, plural, STATUS_WORDS } from './words.js';

const MOST_CASES = 1000;

export async function compareManyPage(site, route) {
  const runs = route.runs.map((key) => site.runs.find((run) => run.key === key)).filter(Boolean);
  if (runs.length < 2) return null;
  return new ManyView(site, runs, await Promise.all(runs.map(tableOf)));
}

class ManyView {
  constructor(site, runs, tables) {
    Object.assign(this, { site, runs, tables, found: true });
    this.title = plural(runs.length, 'run') + ' compared';
    this.element = h('main.compare', {}, h('div.scroll', {}, h('h1', {}, this.title), h('p.quiet', {}, 'Lines are 95 % intervals. A verdict is about the first run and the one in its column, over the cases that both have.'),
      h('div.wide', {}, this.measures()), h('h2', {}, 'Cases'), this.cases()));
  }

  column(run) {
    return h('th', {}, h('a', { href: '#/run/' + run.key, title: run.name }, run.name));
  }

  measures() {
    const { runs } = this;
    const facts = [['samples', (run) => count(run.samples)], ['pass rate', (run) => (passRate(run) == null ? '–' : percent(passRate(run)))], ['cost', (run) => money(run.cost, run.estimated) || '–'], ['tokens', (run) => compact(run.tokens) || '–'], ['time', (run) => duration(run.seconds) || '–']];
    const names = [...new Set(runs.flatMap((run) => run.measures.filter((each) => each.value != null).map((each) => each.name)))];
    const ends = (name) => {
      const all = runs.map((run) => run.measures.find((each) => each.name === name)).filter((each) => each?.value != null);
      return { scale_low: Math.min(0, ...all.map((each) => each.scale_low ?? each.low ?? each.value)), scale_high: Math.max(...all.map((each) => each.scale_high ?? each.high ?? each.value)) };
    };
    return h('table.comparison.many', {}, h('thead', {}, h('tr', {}, h('th'), runs.map((run) => this.column(run)))),
      h('tbody', {}, facts.map(([name, words]) => h('tr', {}, h('td', {}, name), runs.map((run) => h('td', {}, words(run))))),
        names.map((name) => h('tr', {}, h('td', {}, name), runs.map((run, place) => this.cell(run.measures.find((each) => each.name === name), ends(name), place ? this.verdict(name, runs[0], run) : null))))));
  }

  cell(measure, ends, verdict) {
    if (measure?.value == null) return h('td', {}, h('span.quiet', {}, '–'));
    return h('td', {}, h('b', {}, inUnit(measure.value, measure.unit)), verdict, intervalBar({ ...measure, ...ends }));
  }

  // What `pantrace compare` found of the two, where it was asked.
  verdict(name, first, second) {
    const pair = this.site.comparisons.find((each) => String(each.first) === first.key && String(each.second) === second.key);
    const row = pair?.rows.find((each) => each.metric === name);
    return row ? h('a', { href: '#/compare/' + pair.first + '/' + pair.second, title: row.sentence }, h('span.verdict-word', { class: row.verdict }, row.verdict)) : null;
  }

  cases() {
    const places = this.tables.map((table) => new Map(table.key.map((key, place) => [key, place])));
    const keys = [...new Set(this.tables.flatMap((table) => table.key))];
    const ended = (key) => this.tables.map((table, side) => (places[side].has(key) ? table.status?.[places[side].get(key)] ?? 'none' : null));
    const rows = keys.map((key) => [key, ended(key)]).map(([key, all]) => [key, all, new Set(all.filter(Boolean)).size > 1]);
    rows.sort((one, two) => two[2] - one[2]);
    const differ = rows.filter((row) => row[2]).length;
    return [h('p.quiet', {}, differ ? plural(differ, 'case') + ' did not end the same way everywhere; they stand first.' : 'No case ended differently.'),
      h('div.wide', {}, h('table.comparison.many', {}, h('thead', {}, h('tr', {}, h('th', {}, 'case'), this.runs.map((run) => this.column(run)))),
        h('tbody', {}, rows.slice(0, MOST_CASES).map(([key, all]) => h('tr', {}, h('td', {}, key), all.map((status, side) => h('td', {}, status === null ? h('span.quiet', {}, 'not there')
          : h('a', { href: '#/run/' + this.runs[side].key + '/sample/' + encodeURIComponent(key) }, h('span.status', { class: status }, STATUS_WORDS[status] || status))))))))),
      rows.length > MOST_CASES ? h('p.quiet', {}, 'The first ' + count(MOST_CASES) + ' of ' + count(rows.length) + ' cases.') : null];
  }

  key() {
    return false;
  }

  close() {}
}
