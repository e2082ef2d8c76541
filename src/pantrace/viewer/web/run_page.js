// The page of a run: its numbers, and its samples in a table that stays quick with 100,000 rows.
import { h, iconButton, replace } from './dom.js';
import { json, served } from './source.js';
import { report, remember, remembered } from './remembered.js';
import { WindowList } from './window_list.js';
import { passRate, shareBar } from './charts.js';
import { blind, labelled } from './labels.js';
import { measureCards } from './measures.js';
import { failureGroups } from './failures.js';
import { runNotes } from './notes.js';
import { plot } from './plots.js';
import { everySample, searchPanel } from './search.js';
import { value } from './texts.js';
import { compact, count, duration, money, number, percent, plural, STATUS_WORDS, when } from './words.js';

const PLAIN = { steps: 'steps', calls: 'calls', errors: 'errors', tokens: 'tokens', cost: 'cost', seconds: 'time', created: 'when', agent: 'agent', model: 'model', epoch: 'epoch' };
const FORMS = { cost: money, seconds: duration, created: when, tokens: compact };

export async function runPage(site, run, table, route) {
  const view = new RunView(site, run, table);
  view.draw(route.tab);
  return view;
}

export class RunView {
  constructor(site, run, table) {
    Object.assign(this, { site, run, table });
    this.title = run.name;
    this.filters = { words: '', status: '', tool: '', reason: '', cause: '', measure: '', low: '', high: '', errors: false, label: '', queue: false };
    this.sort = remembered('sort', { by: '', down: false });
    this.columns = this.choices().map(([name]) => name).filter((name) => remembered('columns', this.usual()).includes(name));
  }

  choices() {
    const { table } = this;
    return [...Object.entries(PLAIN).filter(([name]) => table[name]), ...Object.keys(table.labels).map((name) => ['label:' + name, name]), ...Object.keys(table.scores).map((name) => ['score:' + name, name])];
  }

  usual() {
    const scores = this.run.measures.filter((each) => each.main).map((each) => each.name);
    const chosen = (scores.length ? scores : Object.keys(this.table.scores)).filter((name) => this.table.scores[name]).slice(0, 4);
    return ['steps', 'calls', 'errors', 'seconds', 'tokens', 'cost', ...chosen.map((name) => 'score:' + name)];
  }

  cell(name, place) {
    const { table } = this;
    if (name.startsWith('score:')) return table.scores[name.slice(6)][place];
    if (name.startsWith('label:')) return table.labels[name.slice(6)][place];
    return table[name]?.[place];
  }

  draw(tab) {
    const { run, table } = this;
    const failing = ['failed', 'error', 'limit', 'undecided'].reduce((sum, name) => sum + (run.statuses[name] || 0), 0);
    const tabs = [['samples', 'Samples', table.size], ['measures', 'Measures', Object.keys(run.scored).length || run.measures.length || null], ['failures', 'Failures', failing || null]];
    if (run.plots.length) tabs.push(['plots', 'Plots', run.plots.length]);
    tabs.push(['about', 'About', null]);
    this.tab = tabs.some(([name]) => name === tab) ? tab : 'samples';
    this.bar = h('div.tabs', { role: 'tablist' }, tabs.map(([name, words, size]) => h('button', { type: 'button', role: 'tab', 'data-tab': name, 'aria-selected': String(name === this.tab), onclick: () => this.open(name) }, words, size == null ? null : h('span.count', {}, count(size)))));
    this.body = h('div.tab-body');
    this.element = h('main.run', {}, this.headPart(), this.bar, this.body);
    this.fill();
  }

  open(tab) {
    this.tab = tab;
    for (const button of this.bar.children) button.setAttribute('aria-selected', String(button.dataset.tab === tab));
    this.fill();
  }

  headPart() {
    const { run } = this;
    const rate = passRate(run);
    const tiles = [
      ['samples', count(run.samples)], ['pass rate', rate == null ? '' : percent(rate)], ['cost', run.cost == null ? '' : money(run.cost, run.estimated)],
      ['tokens', run.tokens == null ? '' : compact(run.tokens)], ['time in all', run.seconds == null ? '' : duration(run.seconds)], ['agent', run.agent || ''], ['model', run.model || ''],
    ].filter(([, words]) => words !== '');
    return h('header.run-head', {},
      h('div.title-line', {}, h('h1', {}, run.name), run.live ? h('span.badge.live', {}, 'running') : null, h('span.quiet', {}, [run.header.task, run.header.created && when(run.header.created)].filter(Boolean).join(' · '))),
      h('div.tiles', {}, tiles.map(([name, words]) => h('div.tile', {}, h('span', {}, name), h('b', { title: words }, words)))),
      shareBar(run.statuses),
      runNotes(this.site, run));
  }

  fill() {
    this.close();
    if (this.tab === 'samples') this.samples();
    else replace(this.body, h('div.scroll', {}, this[this.tab]()));
  }

  arrived() {
    this.list?.update();
  }

  samples() {
    this.tableHead = h('div.row.head', { role: 'row' });
    this.scroller = h('div.rows', { tabindex: '0', role: 'table', 'aria-label': 'Samples', 'aria-rowcount': this.table.size });
    this.list = new WindowList(this.scroller, { estimate: 38, fixed: true, draw: (place) => this.row(place) });
    this.scroller.append(this.tableHead, this.list.host);
    this.filterBar = this.drawFilters();
    replace(this.body, this.filterBar, this.scroller);
    this.drawHead();
    this.filter();
  }

  // Head and rows share one set of widths, and one least width beyond which the table scrolls sideways.
  layOut() {
    const widths = this.columns.map((name) => (name.startsWith('score:') || ['agent', 'model', 'created'].includes(name) || name.startsWith('label:') ? 100 : name === 'seconds' ? 92 : 66));
    const first = this.table.status || this.run.labels ? 104 : 0;
    this.scroller.style.setProperty('--columns', (first ? first + 'px ' : '') + 'minmax(260px, 1fr) ' + widths.map((width) => width + 'px').join(' '));
    this.scroller.style.setProperty('--least', first + 260 + 40 + widths.reduce((sum, width) => sum + width + 12, 12) + 'px');
  }

  drawHead() {
    const names = new Map(this.choices());
    const button = (name, words) => h('button', { type: 'button', role: 'columnheader', title: words, 'aria-sort': this.sort.by === name ? (this.sort.down ? 'descending' : 'ascending') : 'none', onclick: () => {
      this.sort = { by: name, down: this.sort.by === name ? !this.sort.down : !['status', 'title'].includes(name) };
      remember('sort', this.sort);
      this.drawHead();
      this.filter();
    } }, words, this.sort.by === name ? (this.sort.down ? ' ↓' : ' ↑') : '');
    replace(this.tableHead, this.table.status || this.run.labels ? button('status', 'outcome') : null, button('title', 'sample'), this.columns.map((name) => button(name, names.get(name) || name)));
    this.layOut();
  }

  // In blind mode nothing here may tell what is thought of a sample that has no label yet.
  hides(place) {
    return served && blind.on && this.run.labels && !labelled(this.run, this.table.key[place]);
  }

  row(place) {
    const { table } = this;
    const hidden = this.hides(place);
    const status = hidden ? null : table.status?.[place];
    const mine = this.run.labels?.[table.key[place]];
    const title = table.title[place];
    return h('a.row', { role: 'row', href: '#/run/' + this.run.key + '/sample/' + encodeURIComponent(table.key[place]) },
      table.status || this.run.labels ? h('span.outcome', { role: 'cell' }, status ? h('span.status', { class: status }, STATUS_WORDS[status] || status) : h('span.quiet', {}, hidden ? 'hidden' : '–'), mine?.label ? h('span.badge', { class: mine.label === 'pass' ? 'good' : 'bad', title: 'your label' }, mine.label === 'pass' ? '✓' : '✗') : null) : null,
      h('span.sample-name', { role: 'cell', title: table.key[place] }, h('b', {}, table.key[place]), title && title !== table.key[place] ? h('span', {}, title) : null),
      this.columns.map((name) => {
        const found = hidden && name.startsWith('score:') ? null : this.cell(name, place);
        const words = found == null ? '' : FORMS[name] ? FORMS[name](found, this.table.estimated?.[place]) : number(found);
        return h('span', { role: 'cell', class: (typeof found === 'string' && !name.startsWith('score:') ? 'word ' : 'digits ') + (name === 'errors' && found ? 'bad' : found === true || found === 'C' ? 'good' : found === false || found === 'I' ? 'bad' : ''), title: words }, words === '' ? h('span.quiet', { title: hidden ? 'hidden until you have labelled it' : 'not reported' }, '–') : words);
      }));
  }

  drawFilters() {
    const { table } = this;
    const set = (name, given) => {
      this.filters[name] = given;
      if (name === 'measure') range.hidden = !given;
      this.filter();
    };
    const select = (name, words, options) => (options.length ? h('select', { 'aria-label': words, onchange: (event) => set(name, event.target.value) }, h('option', { value: '' }, words), options.map(([each, shown]) => h('option', { value: each, selected: String(each) === this.filters[name] }, shown))) : null);
    let timer;
    const input = h('input', { type: 'search', placeholder: 'Filter samples…', 'aria-label': 'Filter samples by text', value: this.filters.words, oninput: (event) => {
      clearTimeout(timer);
      timer = setTimeout(() => set('words', event.target.value.toLowerCase()), 120);
    } });
    const statuses = [...new Set(table.status || [])].filter(Boolean).sort();
    const labels = Object.entries(table.labels).flatMap(([name, column]) => [...new Set(column.filter((each) => each != null))].slice(0, 40).map((each) => [name + '=' + each, name + ': ' + each]));
    const range = h('span.range', { hidden: !this.filters.measure }, ['low', 'high'].map((end) => h('input', { type: 'number', step: 'any', placeholder: end === 'low' ? 'from' : 'to', 'aria-label': end === 'low' ? 'score from' : 'score to', value: this.filters[end], oninput: (event) => set(end, event.target.value) })));
    const numeric = Object.keys(table.scores).filter((name) => table.scores[name].some((each) => typeof each === 'number' || typeof each === 'boolean'));
    this.shownCount = h('span.quiet', { role: 'status' });
    return h('div.filters', {}, input,
      select('status', 'Any outcome', statuses.map((each) => [each, STATUS_WORDS[each] || each])),
      select('tool', 'Any tool', table.toolNames.map((name, place) => [place, name]).sort((one, two) => (one[1] < two[1] ? -1 : 1))),
      select('label', 'Any label', labels),
      select('cause', 'Any cause', (table.causes?.groups || []).map((each, place) => [place, each.title.slice(0, 70)])),
      !table.causes?.groups.length || this.filters.reason !== '' ? select('reason', 'Any reason', table.reasonWords.map((words, place) => [place, words.slice(0, 70)])) : null,
      numeric.length ? [select('measure', 'Score range…', numeric.map((name) => [name, name])), range] : null,
      table.errors ? h('button.chip', { type: 'button', 'aria-pressed': String(this.filters.errors), onclick: (event) => {
        event.currentTarget.setAttribute('aria-pressed', String(!this.filters.errors));
        set('errors', !this.filters.errors);
      } }, 'With errors') : null,
      h('span.grow'), this.shownCount, this.run.labels ? this.labelMenu() : null, this.columnMenu(), iconButton('search', 'Search in all steps (/)', () => this.search()));
  }

  // From the first sample of the queue to the last, each label leading to the next.
  labelMenu() {
    const waiting = Array.from({ length: this.table.size }, (_, place) => place).filter((place) => !labelled(this.run, this.table.key[place]));
    return h('details.menu', {}, h('summary', {}, 'Labels'), h('div.sheet', {},
      h('button.primary', { type: 'button', disabled: !waiting.length, onclick: () => {
        const places = waiting.sort((one, two) => this.doubt(two) - this.doubt(one) || one - two);
        report.order = { run: this.run.key, places, queue: true };
        location.hash = '#/run/' + this.run.key + '/sample/' + encodeURIComponent(this.table.key[places[0]]);
      } }, waiting.length ? 'Label ' + plural(waiting.length, 'sample') : 'All are labelled'),
      h('label', { title: 'Verdicts are hidden until you have labelled the sample' }, h('input', { type: 'checkbox', checked: blind.on, onchange: (event) => {
        blind.on = event.target.checked;
        remember('blind', blind.on);
        this.list.again(...this.list.live.keys());
      } }), 'blind: hide verdicts'),
      h('label', {}, h('input', { type: 'checkbox', checked: this.filters.queue, onchange: (event) => {
        this.filters.queue = event.target.checked;
        this.filter();
      } }), 'only those without a label'),
      h('a', { href: 'labels/' + this.run.key + '.csv', download: 'labels.csv' }, 'Download for `pantrace calibrate`')));
  }

  search() {
    if (this.searching) return this.searching.input.focus();
    this.searching = searchPanel({
      places: [{ name: 'in all samples', samples: () => everySample(this.table) }],
      open: (sample, place) => { location.hash = '#/run/' + this.run.key + '/sample/' + encodeURIComponent(sample) + '/step/' + (place + 1); },
      close: () => {
        this.searching.panel.remove();
        this.searching = null;
      },
    });
    this.body.append(this.searching.panel);
    this.searching.input.focus();
  }

  columnMenu() {
    return h('details.menu', {}, h('summary', {}, 'Columns'), h('div.sheet', {}, this.choices().map(([name, words]) => h('label', {}, h('input', { type: 'checkbox', checked: this.columns.includes(name), onchange: (event) => {
      const order = this.choices().map(([each]) => each);
      this.columns = order.filter((each) => (each === name ? event.target.checked : this.columns.includes(each)));
      remember('columns', this.columns);
      this.drawHead();
      this.list.again(...this.list.live.keys());
    } }), words))));
  }

  filter() {
    if (!this.list) return; // the reader has gone on meanwhile
    const { table, filters } = this;
    const scores = filters.measure ? table.scores[filters.measure] : null;
    const [low, high] = [filters.low === '' ? -Infinity : Number(filters.low), filters.high === '' ? Infinity : Number(filters.high)];
    const [label, wanted] = filters.label ? [filters.label.slice(0, filters.label.indexOf('=')), filters.label.slice(filters.label.indexOf('=') + 1)] : [];
    const cause = filters.cause === '' ? null : new Set(table.causes.groups[Number(filters.cause)].samples.map(([place]) => place));
    const places = [];
    for (let place = 0; place < table.size; place += 1) {
      if (filters.status && table.status?.[place] !== filters.status) continue;
      if (filters.errors && !table.errors?.[place]) continue;
      if (filters.tool !== '' && !table.tools[place].includes(Number(filters.tool))) continue;
      if (cause && !cause.has(place)) continue;
      if (filters.reason !== '' && !table.reasons[place].includes(Number(filters.reason))) continue;
      if (label && table.labels[label][place] !== wanted) continue;
      if (scores && (filters.low !== '' || filters.high !== '') && (scores[place] === null || !(Number(scores[place]) >= low && Number(scores[place]) <= high))) continue;
      if (filters.words && !(table.key[place] + ' ' + table.title[place]).toLowerCase().includes(filters.words)) continue;
      if (filters.queue && labelled(this.run, table.key[place])) continue;
      places.push(place);
    }
    if (filters.queue) places.sort((one, two) => this.doubt(two) - this.doubt(one));
    else if (this.sort.by) this.sorted(places);
    report.order = { run: this.run.key, places, queue: filters.queue };
    this.shownCount.textContent = places.length === table.size ? plural(table.size, 'sample') : count(places.length) + ' of ' + count(table.size);
    this.list.show(places);
    if (!places.length) this.scroller.dataset.empty = 'No sample fits these filters.';
    else delete this.scroller.dataset.empty;
  }

  sorted(places) {
    const { by, down } = this.sort;
    const cells = [];
    for (const place of places) cells[place] = by === 'title' ? this.table.key[place] : this.cell(by, place);
    const sign = down ? -1 : 1;
    places.sort((one, two) => {
      const a = cells[one];
      const b = cells[two];
      // What is not there comes last, whichever way.
      if (a == null || b == null) return (a == null) - (b == null) || one - two;
      return (a < b ? -1 : a > b ? 1 : 0) * sign || one - two;
    });
  }

  // How much a person's word is worth here: scores that disagree, then those in the middle of their scale.
  doubt(place) {
    const shares = Object.values(this.table.scores).map((column) => column[place]).filter((each) => typeof each === 'boolean' || (typeof each === 'number' && each >= 0 && each <= 1)).map(Number);
    if (!shares.length) return 0;
    const mean = shares.reduce((sum, each) => sum + each, 0) / shares.length;
    const spread = Math.sqrt(shares.reduce((sum, each) => sum + (each - mean) ** 2, 0) / shares.length);
    return spread * 2 + (1 - Math.abs(mean - 0.5) * 2);
  }

  measures() {
    return measureCards(this.run, this.table, (name, bar) => this.pick(name, bar));
  }

  pick(name, bar) {
    if (bar.low === undefined && typeof bar.equals !== 'boolean') return;
    const [low, high] = bar.low === undefined ? [Number(bar.equals), Number(bar.equals)] : [bar.low, bar.high];
    Object.assign(this.filters, { measure: name, low: String(low), high: String(high) });
    this.open('samples');
  }

  failures() {
    return failureGroups(this.run, this.table, (filters) => {
      Object.assign(this.filters, filters);
      this.open('samples');
    });
  }

  plots() {
    return h('div.plots', {}, this.run.plots.map(plot));
  }

  about() {
    const { run } = this;
    return h('div.details', {}, [['Decisions', run.decisions.length ? run.decisions : null], ['Run', run.header], ['Path', run.path]].filter(([, found]) => found && Object.keys(found).length).map(([name, found]) => h('section', {}, h('h3', {}, name), value(found, { open: 2 }))));
  }

  key(name) {
    if (name === '/') {
      if (this.tab !== 'samples') this.open('samples');
      this.search();
    } else if (name === 'f') this.filterBar?.querySelector('input')?.focus();
    else if (name === 'j' || name === 'k') {
      const rows = [...this.element.querySelectorAll('a.row')];
      const at = rows.indexOf(document.activeElement);
      rows[Math.max(0, Math.min(rows.length - 1, at + (name === 'j' ? 1 : -1)))]?.focus();
    } else return false;
    return true;
  }

  close() {
    this.list?.close();
    this.list = this.searching = null;
  }
}

export function tableOf(run) {
  return json(run.table);
}
