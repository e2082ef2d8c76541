// The page of a sample: head, tabs, and the transcript with its outline, filters, search and keys.
import { h, iconButton, replace } from './dom.js';
import { json, withCuts } from './source.js';
import { report, remember, remembered } from './remembered.js';
import { WindowList } from './window_list.js';
import { drawStep, stepShell } from './step.js';
import { timeAxis } from './time_axis.js';
import { searchPanel } from './search.js';
import { hidesVerdict, labelBar } from './labels.js';
import { scoreBadge, scoreList } from './scores.js';
import { expectedCalls } from './expected.js';
import { outline } from './outline.js';
import { text, value } from './texts.js';
import { plainCuts, sampleAsMarkdown, toClipboard } from './copying.js';
import { compact, count, duration, money, plural, STATUS_WORDS, when } from './words.js';

const FILTERS = [['messages', 'Messages'], ['thoughts', 'Thoughts'], ['calls', 'Calls'], ['errors', 'Errors only'], ['system', 'System']];

export async function samplePage(site, run, table, place, route) {
  const page = withCuts((await json(table.block[place]))[table.key[place]]);
  const view = new SampleView(site, run, table, place, page);
  view.draw(route.tab);
  if (route.step != null) view.go(route.step - 1);
  return view;
}

class SampleView {
  constructor(site, run, table, place, page) {
    Object.assign(this, { site, run, table, place, page });
    this.title = page.title || page.id;
    this.heads = page.heads;
    this.size = page.heads.role.length;
    this.records = new Map();
    this.asked = new Set();
    this.raw = new Set();
    this.filters = { messages: true, thoughts: true, calls: true, errors: false, system: true, ...remembered('filters', {}), tool: '', agent: '' };
    this.folded = remembered('folded', false);
    this.unfolded = remembered('unfolded', false);
    this.current = 0;
  }

  head(place) {
    const found = {};
    for (const [name, column] of Object.entries(this.heads)) found[name] = column[place];
    return found;
  }

  address(number) {
    return '#/run/' + this.run.key + '/sample/' + encodeURIComponent(this.page.key) + (number ? '/step/' + number : '');
  }

  draw(tab) {
    const { page } = this;
    const tabs = [['transcript', 'Transcript', this.size], ['scores', 'Scores', page.scores.length || null]];
    if (page.expected && !(hidesVerdict(this.run, page))) tabs.push(['expected', 'Expected', page.expected.wanted.length || null]);
    tabs.push(['details', 'Details', null]);
    this.tab = tabs.some(([name]) => name === tab) ? tab : 'transcript';
    this.bar = h('div.tabs', { role: 'tablist' }, tabs.map(([name, words, number]) => h('button', {
      type: 'button', role: 'tab', 'aria-selected': String(name === this.tab), onclick: () => this.open(name),
    }, words, number == null ? null : h('span.count', {}, count(number)))));
    this.body = h('div.tab-body');
    this.element = h('main.sample', {}, this.headPart(), this.bar, this.body);
    this.fill();
  }

  open(tab) {
    this.tab = tab;
    [...this.bar.children].forEach((button) => button.setAttribute('aria-selected', String(button.textContent.toLowerCase().startsWith(tab))));
    this.fill();
  }

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
      [page.seconds != null && duration(page.seconds), 'duration'], [plural(this.size, 'step'), null],
      [table.calls?.[place] != null && plural(table.calls[place], 'call'), null],
      [table.errors?.[place] ? plural(table.errors[place], 'error') : null, 'bad'],
      [page.usage?.input != null || page.usage?.output != null ? compact(page.usage.input) + ' → ' + compact(page.usage.output) + ' tokens' : null, null],
      [page.usage?.cost_usd != null && money(page.usage.cost_usd), null], [page.created && when(page.created), null],
      [table.agent?.[place], null], [table.model?.[place], null],
    ].filter(([words]) => words);
    return h('header.sample-head', {},
      h('div.title-line', {},
        !hidden && status ? h('span.status', { class: status }, STATUS_WORDS[status] || status) : null,
        h('h1', { title: page.title }, page.title || page.id),
        h('span.grow'),
        h('span.pager', {}, iconButton('list', 'Outline (o)', () => this.toggleOutline()),
          iconButton('copy', 'Copy the sample as Markdown', () => this.copyAll(false)),
          iconButton('code', 'Copy the sample as JSON', () => this.copyAll(true)),
          iconButton('print', 'Print all steps', () => this.print()))),
      h('div.facts', {}, h('span.id', {}, page.key), facts.map(([words, kind]) => h('span', { class: kind }, words))),
      !hidden && page.outcome?.reason ? h('div.reason', {}, page.outcome.reason) : null,
      hidden ? h('p.quiet', {}, 'Verdicts are hidden until you have labelled this sample.')
        : page.scores.length ? h('div.score-line', {}, page.scores.filter((score) => score.status === 'scored').slice(0, 12).map((score) => scoreBadge(score, () => this.open('scores'))),
          page.scores.length > 12 ? h('button.link', { type: 'button', onclick: () => this.open('scores') }, 'all ' + page.scores.length) : null) : null,
      labelBar(this.run, page, () => this.again()));
  }

  fill() {
    this.close();
    const { page } = this;
    if (this.tab === 'transcript') this.transcript();
    else if (this.tab === 'scores') replace(this.body, h('div.scroll', {}, hidesVerdict(this.run, page) ? h('p.quiet', {}, 'Label the sample first.') : scoreList(page, (place) => this.go(place))));
    else if (this.tab === 'expected') replace(this.body, h('div.scroll', {}, expectedCalls(page, (place) => this.go(place))));
    else replace(this.body, h('div.scroll', {}, this.details()));
  }

  transcript() {
    const { page } = this;
    this.scroller = h('div.steps', { tabindex: '0', 'aria-label': 'Steps' });
    this.list = new WindowList(this.scroller, { estimate: 110, draw: (place) => this.drawRow(place) });
    this.outline = outline(page, (place) => this.go(place));
    this.axis = timeAxis(page, (place) => this.go(place));
    this.filterBar = this.drawFilters();
    this.scroller.append(this.intro(), this.list.host, this.ending());
    this.scroller.addEventListener('scroll', () => this.follow(), { passive: true });
    this.pane = h('div.transcript', { class: remembered('outline', innerWidth > 900) ? '' : 'no-outline' }, this.outline.element, h('div.column', {}, this.axis?.element, this.filterBar, this.scroller));
    replace(this.body, this.pane);
    this.filter();
  }

  intro() {
    const { page } = this;
    const question = page.case?.question ?? page.case?.goal;
    const first = this.heads.brief[this.heads.prompt.indexOf(1)];
    const repeated = typeof question === 'string' && first && question.replace(/\s+/g, ' ').startsWith(first.slice(0, 60));
    return h('div.intro', {}, question && !repeated ? h('section', {}, h('h3', {}, 'Task'), text(question, { prose: true })) : null,
      this.size ? null : h('p.quiet', {}, 'This sample has not been run: there are no steps.'));
  }

  ending() {
    return h('div.ending', {}, this.size ? 'End of the transcript' : '');
  }

  arrived() {
    this.list?.update();
    this.outline?.show(this.shown);
    this.axis?.redraw();
  }

  drawFilters() {
    const tools = [...new Set(this.heads.tools.flat())].sort();
    const agents = [...new Set(this.heads.agent.filter(Boolean))].sort();
    const choose = (name, words, options) => (options.length > 1 ? h('select', { 'aria-label': words, onchange: (event) => {
      this.filters[name] = event.target.value;
      this.filter();
    } }, h('option', { value: '' }, words), options.map((each) => h('option', { value: each, selected: each === this.filters[name] }, each))) : null);
    this.shownCount = h('span.quiet', { role: 'status' });
    return h('div.filters', {},
      FILTERS.map(([name, words]) => h('button.chip', { type: 'button', 'aria-pressed': String(this.filters[name]), onclick: (event) => {
        this.filters[name] = !this.filters[name];
        event.currentTarget.setAttribute('aria-pressed', String(this.filters[name]));
        const { tool, agent, ...kept } = this.filters;
        remember('filters', kept);
        this.filter();
        if (name === 'thoughts') this.redraw();
      } }, words)),
      choose('tool', 'All tools', tools), choose('agent', 'All agents', agents),
      h('span.grow'), this.shownCount,
      h('button.link', { type: 'button', onclick: () => this.fold(true) }, 'Fold all'),
      h('button.link', { type: 'button', onclick: () => this.fold(false) }, 'Unfold all'),
      iconButton('search', 'Search (/)', () => this.search()));
  }

  fold(folded) {
    this.folded = folded;
    this.unfolded = !folded;
    remember('folded', folded);
    remember('unfolded', !folded);
    this.redraw();
  }

  redraw() {
    this.list.again(...this.list.live.keys());
  }

  matches(place) {
    const { heads, filters } = this;
    if (filters.tool && !heads.tools[place].includes(filters.tool)) return false;
    if (filters.agent && heads.agent[place] !== filters.agent) return false;
    if (filters.errors) return Boolean(heads.failed[place]);
    if (heads.role[place] === 'system' || ['synthetic', 'note', 'copied'].includes(heads.kind[place])) return filters.system || Boolean(heads.failed[place]);
    const calls = heads.tools[place].length > 0;
    const says = heads.says[place] || heads.role[place] === 'user' || heads.kind[place] !== 'message';
    return Boolean((filters.messages && says) || (filters.calls && calls) || (filters.thoughts && heads.thinks[place]) || heads.failed[place] || (filters.messages && !calls && !heads.thinks[place]));
  }

  filter() {
    this.shown = Array.from({ length: this.size }, (_, place) => place).filter((place) => this.matches(place));
    this.shownCount.textContent = this.shown.length === this.size ? '' : count(this.shown.length) + ' of ' + plural(this.size, 'step');
    this.list.show(this.shown);
    this.outline.show(this.shown);
  }

  drawRow(place) {
    const head = this.head(place);
    const shell = stepShell(head, place, place + 1);
    if (place === this.current) shell.classList.add('current');
    const branch = this.page.branches?.[head.branch];
    if (head.branch && branch?.first === place) shell.append(this.branchLine(branch));
    if (head.prompt && head.depth === 0 && head.turn > 1) shell.classList.add('new-turn');
    const record = this.records.get(place);
    if (!record) {
      shell.append(h('header', {}, h('span.avatar'), h('b.who', {}, head.agent || head.role), h('span.grow'), h('span.number', {}, place + 1)), h('div.parts.waiting', {}, head.brief));
      this.load(place);
      return shell;
    }
    if (record.trouble) {
      shell.append(h('header', {}, h('b.who', {}, head.role), h('span.grow'), h('span.number', {}, place + 1)), h('div.trouble', {}, record.trouble), h('div.quiet', {}, head.brief));
      return shell;
    }
    return drawStep(shell, head, place + 1, this.filters.thoughts ? record : withoutThoughts(record), {
      folded: this.folded, unfolded: this.unfolded, raw: this.raw,
      address: (number) => this.address(number),
      link: (number) => toClipboard(location.href.split('#')[0] + this.address(number), 'Link'),
      spent: (number) => this.heads.cost.slice(0, number).reduce((sum, each) => sum + (each || 0), 0),
      toggleRaw: (number) => {
        if (!this.raw.delete(number)) this.raw.add(number);
        this.list.again(number - 1);
      },
    });
  }

  branchLine(branch) {
    const name = branch.title || branch.agents?.[0]?.name || branch.id || 'sub-agent';
    const kind = { grader: 'Grader', simulated_user: 'Simulated user', tool: 'Tool that asks a model' }[branch.purpose] || 'Sub-agent';
    return h('div.branch', {}, kind + ' ', h('b', {}, name),
      branch.caller != null ? [', started by ', h('button.link', { type: 'button', onclick: () => this.go(branch.caller) }, 'step ' + (branch.caller + 1))] : null);
  }

  chunkOf(place) {
    return this.page.chunks.find(([first, end]) => place >= first && place < end);
  }

  async load(place) {
    const chunk = this.chunkOf(place);
    if (!chunk || this.asked.has(chunk[0])) return;
    this.asked.add(chunk[0]);
    try {
      await this.chunk(chunk);
    } catch (error) {
      for (let each = chunk[0]; each < chunk[1]; each += 1) this.records.set(each, { trouble: error.message });
    }
    this.list?.again(...[...this.list.live.keys()].filter((each) => each >= chunk[0] && each < chunk[1]));
  }

  async chunk([first, , key, name]) {
    const records = (await json(key))[name];
    records.forEach((record, at) => this.records.set(first + at, withCuts(record)));
    // Only what is near stays unpacked.
    if (this.records.size > 3000) {
      for (const each of [...this.records.keys()].slice(0, 1000)) this.records.delete(each);
      this.asked = new Set(this.page.chunks.filter(([from]) => this.records.has(from)).map(([from]) => from));
    }
  }

  async all() {
    const records = [];
    for (const chunk of this.page.chunks) {
      const found = (await json(chunk[2]))[chunk[3]];
      records.push(...found.map((record) => withCuts(record)));
    }
    return records;
  }

  async copyAll(asJson) {
    try {
      const records = await this.all();
      const content = asJson ? JSON.stringify({ ...this.page, heads: undefined, chunks: undefined, steps: records.flatMap((record) => record.steps) }, plainCuts, 1) : sampleAsMarkdown(this.page, records);
      await toClipboard(content, 'Sample');
    } catch (error) {
      await toClipboard(error.message, 'Trouble');
    }
  }

  async print() {
    if (this.size > 500 && !confirm('Print all ' + count(this.size) + ' steps? This may take a while.')) return;
    const records = await this.all();
    const paper = h('div.paper', {}, h('h1', {}, this.title), records.map((record, place) => drawStep(stepShell(this.head(place), place, place + 1), this.head(place), place + 1, record, { unfolded: true, address: () => '#', link: () => {}, toggleRaw: () => {} })));
    document.body.append(paper);
    window.print();
    paper.remove();
  }

  details() {
    const { page } = this;
    const sections = [
      ['Task', page.case?.question], ['Goal', page.case?.goal], ['Context', page.case?.context], ['Reference answer', page.case?.reference], ['Final answer', page.response],
      ['Case', page.case], ['Final state', page.state], ['Began as', page.origin], ['Agents', page.branches?.filter((each) => each.agents?.length).map((each) => each.agents).flat()],
      ['Tokens', page.usage], ['Read from', page.source], ['Other data', page.extra], ['Other data of the trajectory', page.about?.trajectory],
    ].filter(([, found]) => found != null && !(Array.isArray(found) && !found.length));
    return h('div.details', {}, sections.map(([name, found]) => h('section', {}, h('h3', {}, name), value(found, { prose: true, open: 1 }))));
  }

  search() {
    if (this.searching) return this.searching.input.focus();
    const whole = { name: 'in this sample', samples: () => [{ sample: '', chunks: this.page.chunks }] };
    const { table, run } = this;
    const everywhere = { name: 'in all samples of the run', samples: async function* () {
      for (let place = 0; place < table.size; place += 1) {
        const found = (await json(table.block[place]))[table.key[place]];
        yield { sample: table.key[place], chunks: found.chunks };
      }
    } };
    this.searching = searchPanel({
      places: table.size > 1 ? [whole, everywhere] : [whole],
      open: (sample, place) => {
        if (!sample || sample === this.page.key) this.go(place);
        else location.hash = '#/run/' + run.key + '/sample/' + encodeURIComponent(sample) + '/step/' + (place + 1);
      },
      close: () => {
        this.searching.panel.remove();
        this.searching = null;
      },
    });
    this.pane.append(this.searching.panel);
    this.searching.input.focus();
  }

  toggleOutline() {
    const hidden = this.pane?.classList.toggle('no-outline');
    remember('outline', !hidden);
    this.outline?.show(this.shown);
  }

  go(place) {
    if (this.tab !== 'transcript') this.open('transcript');
    if (!this.shown.includes(place)) {
      Object.assign(this.filters, { messages: true, thoughts: true, calls: true, errors: false, system: true, tool: '', agent: '' });
      const bar = this.drawFilters();
      this.filterBar.replaceWith(bar);
      this.filterBar = bar;
      this.filter();
    }
    const before = this.current;
    this.current = place;
    this.wanted = performance.now() + 1200;
    this.list.scrollTo(place);
    this.list.element(before)?.classList.remove('current');
    this.list.element(place)?.classList.add('current');
    this.outline.at(place);
    this.axis?.at(place);
    history.replaceState(null, '', this.address(place + 1));
  }

  // Outline and time axis follow the reader.
  follow() {
    if (this.following || performance.now() < (this.wanted || 0)) return;
    this.following = true;
    setTimeout(() => {
      this.following = false;
      if (!this.scroller?.isConnected) return;
      const place = this.list.current();
      if (place === undefined || place === this.current) return;
      this.list.element(this.current)?.classList.remove('current');
      this.current = place;
      this.list.element(place)?.classList.add('current');
      this.outline.at(place);
      this.axis?.at(place);
    }, 120);
  }

  move(by) {
    const at = this.shown.findIndex((place) => place >= this.current);
    const next = this.shown[Math.max(0, Math.min(this.shown.length - 1, (at < 0 ? this.shown.length - 1 : at) + by))];
    if (next !== undefined) this.go(next);
  }

  key(name) {
    const keys = {
      j: () => this.move(1), k: () => this.move(-1), o: () => this.toggleOutline(), '/': () => this.search(),
      n: () => this.neighbour(1), p: () => this.neighbour(-1),
      f: () => this.filterBar?.querySelector('button')?.focus(),
      e: () => {
        const next = this.shown?.find((place) => place > this.current && this.heads.failed[place]);
        if (next !== undefined) this.go(next);
      },
      1: () => this.element.querySelector('.label-bar .thumb')?.click(), 2: () => this.element.querySelectorAll('.label-bar .thumb')[1]?.click(),
    };
    if (!keys[name]) return false;
    keys[name]();
    return true;
  }

  neighbour(by) {
    const order = report.order?.run === this.run.key ? report.order.places : Array.from({ length: this.table.size }, (_, place) => place);
    const next = order[order.indexOf(this.place) + by];
    if (next !== undefined) location.hash = '#/run/' + this.run.key + '/sample/' + encodeURIComponent(this.table.key[next]);
  }

  close() {
    this.list?.close();
    this.outline?.close();
    this.list = this.outline = this.axis = this.searching = null;
  }
}

function withoutThoughts(record) {
  const [step, ...answers] = record.steps;
  if (!(step.parts || []).some((part) => part.type === 'thinking')) return record;
  // Places of the other parts must stay, since calls and answers are paired by them.
  const parts = step.parts.map((part) => (part.type === 'thinking' ? { type: 'text', text: '' } : part));
  return { ...record, steps: [{ ...step, parts }, ...answers] };
}
