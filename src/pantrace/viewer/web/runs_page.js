// All runs: their main numbers side by side, and two of them to compare.
import { h, replace } from './dom.js';
import { intervalBar, passRate, shareBar } from './charts.js';
import { siteNotes } from './notes.js';
import { plot } from './plots.js';
import { ESTIMATED, compact, count, duration, inUnit, money, percent, plural, when } from './words.js';

const COLUMNS = [
  ['name', 'run', (run) => run.name], ['samples', 'samples', (run) => run.samples], ['rate', 'pass rate', passRate], ['cost', 'cost', (run) => run.cost],
  ['tokens', 'tokens', (run) => run.tokens], ['seconds', 'time', (run) => run.seconds], ['created', 'when', (run) => run.header.created ?? null],
];

const CELLS = {
  samples: (run) => digits(count(run.samples)),
  rate: (run) => digits(passRate(run) == null ? h('span.quiet', {}, '–') : percent(passRate(run))),
  cost: (run) => digits(money(run.cost, run.estimated), run.estimated ? 'cost' + ESTIMATED : ''),
  tokens: (run) => digits(compact(run.tokens)),
  seconds: (run) => digits(duration(run.seconds)),
  created: (run) => digits(when(run.header.created)),
};

function digits(shown, title = '') {
  return h('td.digits', { title }, shown || '–');
}

// A long name may break behind its dots and underscores.
function breakable(name) {
  return name.split(/(?<=[._])/).map((part) => [part, h('wbr')]);
}

export class RunsView {
  constructor(site) {
    this.site = site;
    this.title = site.title;
    this.sort = { by: '', down: true };
    this.words = '';
    this.chosen = new Set();
    this.element = h('main.runs');
    this.draw();
  }

  draw() {
    const { site } = this;
    const measures = mainMeasures(site.runs);
    // A column that is empty in every run only pushes the others off the page.
    const columns = COLUMNS.filter(([, , of], place) => place < 3 || site.runs.some((run) => of(run) != null));
    const runs = site.runs.filter((run) => [run.name, run.agent, run.model, run.header.task].join(' ').toLowerCase().includes(this.words));
    const column = COLUMNS.find(([name]) => name === this.sort.by)?.[2] || ((run) => run.measures.find((each) => 'm:' + each.name === this.sort.by)?.value);
    if (this.sort.by) runs.sort((one, two) => compareValues(column(one), column(two), this.sort.down));
    const head = (name, words) => h('th', { class: name === 'name' ? '' : name.startsWith('m:') ? 'measure-cell' : 'digits', 'aria-sort': this.sort.by === name ? (this.sort.down ? 'descending' : 'ascending') : null }, h('button', { type: 'button', onclick: () => {
      this.sort = { by: name, down: this.sort.by === name ? !this.sort.down : name !== 'name' };
      this.draw();
    } }, words, this.sort.by === name ? (this.sort.down ? ' ↓' : ' ↑') : ''));
    const several = site.runs.length > 1;
    replace(this.element, h('div.scroll', {},
      h('div.title-line', {}, h('h1', {}, site.title), h('span.grow'),
        site.runs.length > 3 ? h('input', { type: 'search', placeholder: 'Filter runs…', 'aria-label': 'Filter runs', value: this.words, onchange: (event) => {
          this.words = event.target.value.toLowerCase();
          this.draw();
        } }) : null,
        site.runs.length > 2 ? h('span.quiet', {}, this.chosen.size < 2 ? 'Choose two or more to compare' : plural(this.chosen.size, 'run') + ' chosen') : null,
        several ? h('button.primary', { type: 'button', disabled: site.runs.length > 2 && this.chosen.size < 2, onclick: () => this.compare() }, 'Compare') : null),
      siteNotes(site),
      h('div.wide', {}, h('table.runs-table', {},
        h('thead', {}, h('tr', {}, site.runs.length > 2 ? h('th', {}, h('span.unseen', {}, 'choose')) : null, columns.map(([name, words]) => head(name, words)), measures.map((name) => head('m:' + name, breakable(name))))),
        h('tbody', {}, runs.map((run) => this.row(run, columns, measures, site.runs.length > 2))))),
      site.plots.length ? h('div.plots', {}, site.plots.map(plot)) : null));
  }

  row(run, columns, measures, choosing) {
    return h('tr', {},
      choosing ? h('td', {}, h('input', { type: 'checkbox', 'aria-label': 'choose ' + run.name, checked: this.chosen.has(run.key), onchange: (event) => {
        if (event.target.checked) this.chosen.add(run.key);
        else this.chosen.delete(run.key);
        this.draw();
      } })) : null,
      h('td', {}, h('a.run-name', { href: '#/run/' + run.key }, run.name), run.live ? h('span.badge.live', {}, 'running') : null, h('div.quiet', {}, [run.header.task, run.agent, run.model].filter(Boolean).join(' · ')), shareBar(run.statuses)),
      columns.slice(1).map(([name]) => CELLS[name](run)),
      measures.map((name) => {
        const measure = run.measures.find((each) => each.name === name);
        return h('td.measure-cell', {}, measure?.value == null ? h('span.quiet', { title: measure?.why }, '–') : [h('b', {}, inUnit(measure.value, measure.unit)), intervalBar(measure)]);
      }));
  }

  compare() {
    const { comparisons, runs } = this.site;
    const chosen = runs.map((run) => run.key).filter((key) => runs.length === 2 || this.chosen.has(key));
    const pair = chosen.length === 2 && comparisons.find((each) => String(each.first) === chosen[0] && String(each.second) === chosen[1]);
    location.hash = pair ? '#/compare/' + pair.first + '/' + pair.second : '#/compare/' + chosen.join(',');
  }

  key() {
    return false;
  }

  close() {}
}

function mainMeasures(runs) {
  const times = new Map();
  for (const run of runs) for (const each of run.measures) if (each.value != null) times.set(each.name, (times.get(each.name) || 0) + (each.main ? 10 : 1));
  return [...times].sort((one, two) => two[1] - one[1]).slice(0, 4).map(([name]) => name);
}

function compareValues(one, two, down) {
  if (one == null || two == null) return (one == null) - (two == null);
  return (one < two ? -1 : one > two ? 1 : 0) * (down ? -1 : 1);
}
