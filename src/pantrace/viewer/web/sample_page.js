// The page of a sample: what it is and how it ended, and its transcript, scores and details.
import { h, iconButton, replace } from './dom.js';
import { allHeads, json, withCuts } from './source.js';
import { report } from './remembered.js';
import { Transcript } from './transcript.js';
import { hidesVerdict, labelBar } from './labels.js';
import { scoreBadge, scoreList } from './scores.js';
import { sampleNotes } from './notes.js';
import { expectedCalls } from './expected.js';
import { value } from './texts.js';
import { copySample, printSample } from './copying_sample.js';
import { ESTIMATED, compact, count, duration, money, plural, STATUS_WORDS, when } from './words.js';

const BADGES = 10;

export async function samplePage(site, run, table, place, route) {
  const page = withCuts((await json(table.block[place]))[table.key[place]]);
  // The steps that are seen first are unpacked before anything is laid out: once is enough.
  const wanted = route.step ? route.step - 1 : 0;
  const first = page.chunks.find(([from, end]) => wanted >= from && wanted < end);
  if (first) await json(first[2]).catch(() => {});
  if (wanted >= page.heads.role.length) await allHeads(page).catch(() => {});
  const view = new SampleView(site, run, table, place, page);
  view.draw(route.tab);
  return view;
}

class SampleView {
  constructor(site, run, table, place, page) {
    Object.assign(this, { site, run, table, place, page });
    this.title = page.title || page.id;
  }

  address(number) {
    return '#/run/' + this.run.key + '/sample/' + encodeURIComponent(this.page.key) + (number ? '/step/' + number : '');
  }

  draw(tab) {
    const { page } = this;
    const tabs = [['transcript', 'Transcript', page.size], ...(page.scores.length || page.decisions?.length ? [['scores', 'Scores', page.scores.length]] : [])];
    if (page.expected && !hidesVerdict(this.run, page)) tabs.push(['expected', 'Expected', page.expected.wanted.length || null]);
    tabs.push(['details', 'Details', null]);
    this.tab = tabs.some(([name]) => name === tab) ? tab : 'transcript';
    this.bar = h('div.tabs', { role: 'tablist' }, tabs.map(([name, words, number]) => h('button', {
      type: 'button', role: 'tab', 'data-tab': name, 'aria-selected': String(name === this.tab), onclick: () => this.open(name),
    }, words, number == null ? null : h('span.count', {}, count(number)))));
    this.body = h('div.tab-body');
    this.element = h('main.sample', {}, this.headPart(), this.bar, this.body);
    this.fill();
  }

  open(tab) {
    this.tab = tab;
    for (const button of this.bar.children) button.setAttribute('aria-selected', String(button.dataset.tab === tab));
    this.fill();
  }

  // After a label: the head says more, the transcript stays where it is.
  again() {
    const old = this.element;
    this.close();
    this.draw(this.tab);
    old.replaceWith(this.element);
    this.arrived();
  }

  headPart() {
    const { page, table, place } = this;
    const status = table.status?.[place];
    const hidden = hidesVerdict(this.run, page);
    const facts = [
      [page.seconds != null && duration(page.seconds), 'from its first sign of life to its last'], [plural(page.size, 'step'), ''],
      [table.calls?.[place] != null && plural(table.calls[place], 'call'), ''],
      [table.errors?.[place] ? plural(table.errors[place], 'error') : null, 'next error: e', 'bad'],
      [page.usage?.input != null || page.usage?.output != null ? compact(page.usage.input) + ' → ' + compact(page.usage.output) + ' tokens' : null, 'tokens in and out, sub-agents included'],
      [page.cost != null && money(page.cost, page.estimated), 'cost, sub-agents included' + (page.estimated ? ESTIMATED : '')], [page.spent ? compact(page.spent.tokens) + ' tokens' + (page.spent.cost != null ? ', ' + money(page.spent.cost, page.spent.estimated) : '') + ' spent in all' : null, 'with branches that were given up and responses that were stopped'],
      [page.created && when(page.created), 'UTC'],
      [table.agent?.[place], 'agent'], [table.model?.[place], 'model'],
    ].filter(([words]) => words);
    return h('header.sample-head', {},
      h('div.title-line', {},
        !hidden && status ? h('span.status', { class: status }, STATUS_WORDS[status] || status) : null,
        h('h1', { title: page.title }, page.title || page.id),
        h('span.grow'),
        h('span.pager', {}, iconButton('list', 'Outline (o)', () => this.transcript?.toggleOutline()),
          iconButton('copy', 'Copy the sample as Markdown', () => copySample(page, false)),
          iconButton('code', 'Copy the sample as JSON', () => copySample(page, true)),
          iconButton('print', 'Print all steps', () => printSample(page)))),
      h('div.facts', {}, h('span.id', { title: page.key }, page.key), facts.map(([words, title, kind]) => h('span', { class: kind, title }, words))),
      hidden ? h('p.quiet', {}, 'Verdicts are hidden until you have labelled this sample.') : [this.findings(status), this.scoreLine()],
      sampleNotes(this.site, this.run, table),
      labelBar(this.run, page, this, () => this.again()));
  }

  // What went wrong, each with the step at which it shows.
  findings(status) {
    const found = (this.page.findings || []).filter((each) => !each.mended);
    const reason = this.page.outcome?.reason;
    const seen = status === 'passed' ? [] : found;
    if (!seen.length && !reason) return null;
    return h('div.findings', {}, reason ? h('span.reason', {}, reason) : null, seen.length ? h('b', {}, 'Seen to go wrong') : null, seen.slice(0, 3).map((each) => (each.row != null
      ? h('button.finding', { type: 'button', title: each.detail, onclick: () => this.go(each.row) }, each.title, h('span.quiet', {}, 'step ' + (each.row + 1)))
      : h('span.finding', { title: each.detail }, each.title))));
  }

  scoreLine() {
    const scored = this.page.scores.filter((score) => score.status === 'scored');
    if (!scored.length) return null;
    // What passed or failed is read first.
    const order = [...scored].sort((one, two) => (two.passed != null) - (one.passed != null));
    return h('div.score-line', {}, order.slice(0, BADGES).map((score) => scoreBadge(score, () => this.open('scores'))),
      this.page.scores.length > BADGES ? h('button.link', { type: 'button', onclick: () => this.open('scores') }, 'all ' + this.page.scores.length) : null);
  }

  fill() {
    this.close();
    const { page, run } = this;
    const go = (place) => this.go(place);
    if (this.tab === 'transcript') {
      this.transcript = new Transcript(run, this.table, page, (number) => this.address(number));
      replace(this.body, this.transcript.element);
      this.arrived();
    } else if (this.tab === 'scores') replace(this.body, h('div.scroll', {}, hidesVerdict(run, page) ? h('p.quiet', {}, 'Label the sample first.') : scoreList(page, go)));
    else if (this.tab === 'expected') replace(this.body, h('div.scroll', {}, expectedCalls(page, go)));
    else replace(this.body, h('div.scroll', {}, this.details()));
  }

  arrived() {
    if (this.element.isConnected) this.transcript?.arrived();
  }

  details() {
    const { page } = this;
    const sections = [
      ['Task', page.case?.question], ['Goal', page.case?.goal], ['Context', page.case?.context], ['Reference answer', page.case?.reference], ['Final answer', page.response],
      ['Case', page.case], ['Final state', page.state], ['Began as', page.origin], ['Agents', page.branches?.filter((each) => each.agents?.length).map((each) => each.agents).flat()],
      ['Tokens', page.usage], ['Read from', page.source], ['Other data', page.extra], ['Other data of the trajectory', page.about?.trajectory],
    ].filter(([, found]) => found != null && !(Array.isArray(found) && !found.length));
    return h('div.details', {}, sections.map(([name, found]) => h('section', {}, h('h2', {}, name), value(found, { prose: true, open: 1 }))));
  }

  go(place) {
    if (this.tab !== 'transcript') this.open('transcript');
    if (place >= 0 && place < this.page.size) this.transcript.go(place);
  }

  key(name) {
    const { transcript } = this;
    const keys = {
      j: () => transcript?.move(1), k: () => transcript?.move(-1), e: () => transcript?.nextError(), o: () => transcript?.toggleOutline(),
      '/': () => {
        if (!transcript) this.open('transcript');
        this.transcript.search();
      },
      f: () => transcript?.filterBar.querySelector('button')?.focus(),
      n: () => this.neighbour(1), p: () => this.neighbour(-1),
      1: () => this.element.querySelector('.label-bar .thumb')?.click(), 2: () => this.element.querySelectorAll('.label-bar .thumb')[1]?.click(),
    };
    if (!keys[name]) return false;
    keys[name]();
    return true;
  }

  // The sample before or behind this one, in the order of the table or of the queue; false where there is none.
  neighbour(by) {
    const order = report.order?.run === this.run.key ? report.order.places : Array.from({ length: this.table.size }, (_, place) => place);
    const next = order[order.indexOf(this.place) + by];
    if (next === undefined) return false;
    location.hash = '#/run/' + this.run.key + '/sample/' + encodeURIComponent(this.table.key[next]);
    return true;
  }

  get axis() {
    return this.transcript?.axis;
  }

  close() {
    this.transcript?.close();
    this.transcript = null;
  }
}
