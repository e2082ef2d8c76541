// The steps of a sample in a window, with outline, axis, filters and search around them.
import { h, iconButton, replace } from './dom.js';
import { allHeads, json, ready, withCuts } from './source.js';
import { remember, remembered } from './remembered.js';
import { WindowList } from './window_list.js';
import { drawStep, stepShell } from './step.js';
import { axis } from './axis.js';
import { branchBar, goneBar, Groups, noteLine } from './branches.js';
import { everySample, searchPanel } from './search.js';
import { labelStep, stepLabel } from './labels.js';
import { outline } from './outline.js';
import { text } from './texts.js';
import { headOf } from './copying_sample.js';
import { toClipboard } from './copying.js';
import { count, plural } from './words.js';

const FILTERS = [['messages', 'Messages'], ['thoughts', 'Thoughts'], ['calls', 'Calls'], ['system', 'System'], ['errors', 'Errors only']];
const ALL = { messages: true, thoughts: true, calls: true, errors: false, system: true, tool: '', agent: '' };

export class Transcript {
  constructor(run, table, page, address) {
    Object.assign(this, { run, table, page, address });
    this.heads = page.heads;
    this.size = page.heads.role.length;
    this.groups = new Groups(page);
    this.records = new Map();
    this.asked = new Set();
    this.raw = new Set();
    this.labelling = new Set();
    this.filters = { ...ALL, ...remembered('filters', {}), tool: '', agent: '' };
    this.folded = remembered('folded', false);
    this.unfolded = remembered('unfolded', false);
    this.current = -1;
    this.draw();
  }

  draw() {
    const { page } = this;
    this.scroller = h('div.steps', { tabindex: '0', role: 'region', 'aria-label': 'Steps' });
    this.list = new WindowList(this.scroller, { estimate: usualHeight(page), draw: (place) => this.drawRow(place) });
    this.ending = h('div.ending', {}, page.rest ? 'Reading…' : this.size ? 'End of the transcript' : '');
    this.scroller.append(this.intro(), this.list.host, this.ending);
    this.scroller.addEventListener('scroll', () => this.follow(), { passive: true });
    this.column = h('div.column');
    this.element = h('div.transcript', { class: remembered('outline', innerWidth > 900) ? '' : 'no-outline' });
    this.surround();
    this.filter();
  }

  // What is drawn from the short words about the rows, around the rows themselves.
  surround() {
    this.outline = outline(this.page, (place) => this.go(place));
    this.axis = axis(this.page, (place) => this.go(place));
    this.filterBar = this.drawFilters();
    replace(this.column, this.axis?.element, this.filterBar, this.scroller);
    replace(this.element, this.outline.element, this.column, this.searching?.panel);
  }

  arrived() {
    this.list.update();
    this.outline.show(this.shown);
    // The first words are on the screen before the rest of a long sample is unpacked.
    if (this.page.rest) requestAnimationFrame(() => setTimeout(() => this.complete()));
  }

  // The words about the other rows of a long sample are there, or cannot be had.
  async complete() {
    const { page } = this;
    if (this.size === page.size) return;
    try {
      await allHeads(page);
    } catch (error) {
      replace(this.ending, h('div.trouble', {}, 'Only the first ' + count(this.size) + ' of ' + plural(page.size, 'step') + ' can be shown. ' + error.message));
      return;
    }
    const { folded, hidden, open } = this.groups;
    this.heads = page.heads;
    this.size = page.size;
    this.groups = Object.assign(new Groups(page), { folded, hidden, open });
    this.sums = this.rowOf = null;
    this.outline.close();
    // What leaves the document for a moment forgets where it was scrolled to, and who typed in it.
    const { scrollTop } = this.scroller;
    const typing = document.activeElement;
    this.surround();
    this.scroller.scrollTop = scrollTop;
    if (this.element.contains(typing)) typing.focus({ preventScroll: true });
    this.ending.textContent = 'End of the transcript';
    this.filter();
    this.redraw();
    if (this.current >= 0) this.mark(this.current);
  }

  intro() {
    const { page } = this;
    const question = page.case?.question ?? page.case?.goal;
    const bare = (words) => words.replace(/[^\p{L}\p{N}]+/gu, '').toLowerCase();
    const first = this.heads.brief[this.heads.prompt.indexOf(1)];
    const repeated = typeof question === 'string' && first && bare(question).startsWith(bare(first).slice(0, 40));
    const origin = page.origin && { forked: 'Forked from', resumed: 'Takes up', continues: 'Goes on from', copied: 'Begins with a copy of' }[page.origin.kind];
    return h('div.intro', {}, origin ? h('p.quiet', {}, origin + ' ' + (page.origin.trajectory || 'an earlier session') + '.') : null,
      question && !repeated ? h('section', {}, h('h3', {}, 'Task'), text(question, { prose: true })) : null,
      this.size ? null : h('p.nothing-here', {}, 'This case has not been run: there are no steps.'));
  }

  drawFilters() {
    const tools = [...new Set(this.heads.tools.flat())].sort();
    const agents = [...new Set(this.heads.agent.filter(Boolean))].sort();
    const choose = (name, words, options) => (options.length > 1 ? h('select', { 'aria-label': words, onchange: (event) => {
      this.filters[name] = event.target.value;
      this.filter();
    } }, h('option', { value: '' }, words), options.map((each) => h('option', { value: each, selected: each === this.filters[name] }, each))) : null);
    this.shownCount = h('span.quiet', { role: 'status' });
    return h('div.filters', { role: 'group', 'aria-label': 'Filters' },
      FILTERS.map(([name, words]) => h('button.chip', { type: 'button', class: name, 'aria-pressed': String(this.filters[name]), onclick: (event) => {
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
    const matching = Array.from({ length: this.size }, (_, place) => place).filter((place) => this.matches(place));
    this.shown = matching.filter((place) => this.groups.look(place));
    this.shownCount.textContent = matching.length === this.size ? '' : count(matching.length) + ' of ' + plural(this.size, 'step');
    this.list.show(this.shown);
    this.outline.show(this.shown);
    if (!matching.length && this.size) this.scroller.dataset.empty = 'No step fits these filters.';
    else delete this.scroller.dataset.empty;
  }

  // A group was folded or unfolded at this row.
  regroup(place) {
    this.filter();
    this.list.again(...this.list.live.keys());
    this.list.scrollTo(place);
  }

  drawRow(place) {
    const { groups, page } = this;
    const head = headOf(page, place);
    const options = { go: (to) => this.go(to), changed: (at) => this.regroup(at) };
    const bars = [];
    if (head.branch && page.branches?.[head.branch]?.first === place) bars.push(branchBar(page, head.branch, groups, options));
    if (groups.goneLeader[place] === place && groups.foldedBranch(place) < 0) bars.push(goneBar(page, place, groups, options));
    const look = groups.look(place);
    if (look === 'line') return h('div', {}, bars);
    const drawn = look === 'notes' ? this.notes(place) : this.drawStep(head, place);
    if (head.prompt && head.depth === 0 && head.turn > 1) drawn.classList.add('new-turn');
    return bars.length ? h('div', {}, bars, drawn) : drawn;
  }

  notes(leader) {
    return noteLine(this.page, leader, this.groups.notes(leader), () => {
      this.groups.open.add(leader);
      this.regroup(leader);
    });
  }

  drawStep(head, place) {
    const shell = stepShell(head, place, place + 1);
    if (place === this.current) shell.classList.add('current');
    const record = this.records.get(place) || this.atHand(place);
    if (!record) {
      shell.append(h('header', {}, h('span.avatar'), h('b.who', {}, head.agent || head.role), h('span.grow'), h('span.number', {}, place + 1)), h('div.parts.waiting', {}, head.brief));
      this.load(place);
      return shell;
    }
    if (record.trouble) {
      shell.append(h('header', {}, h('b.who', {}, head.role), h('span.grow'), h('span.number', {}, place + 1)), h('div.parts', {}, h('div.trouble', {}, record.trouble), h('div.quiet', {}, head.brief)));
      return shell;
    }
    return drawStep(shell, head, place + 1, this.filters.thoughts ? record : withoutThoughts(record), {
      folded: this.folded, unfolded: this.unfolded, raw: this.raw, replaced: this.replaced(record), go: (to) => this.go(to),
      address: (number) => this.address(number),
      link: (number) => toClipboard(location.href.split('#')[0] + this.address(number), 'Link'),
      spent: this.spent(place), estimated: this.page.estimated,
      label: stepLabel(this.run, this.page, head, this.labelling.has(place), () => this.list.again(place)),
      toggleLabel: labelStep(this.run) ? () => {
        if (!this.labelling.delete(place)) this.labelling.add(place);
        this.list.again(place);
      } : null,
      toggleRaw: (number) => {
        if (!this.raw.delete(number)) this.raw.add(number);
        this.list.again(number - 1);
      },
    });
  }

  // Tokens and cost up to and with a step; not a number where nothing was reported.
  spent(place) {
    if (!this.sums) {
      const { heads } = this;
      // What was given up does not count here, as it counts nowhere.
      const upTo = (column) => {
        let sum = null;
        return column.map((each, at) => (!heads.active[at] ? null : (sum = each == null ? sum : (sum || 0) + each)));
      };
      this.sums = { tokens: upTo(heads.input.map((each, at) => (each == null && heads.output[at] == null ? null : (each || 0) + (heads.output[at] || 0)))), cost: upTo(heads.cost) };
    }
    return { tokens: this.sums.tokens[place], cost: this.sums.cost[place] };
  }

  // The rows that a compaction put a summary in the place of.
  replaced(record) {
    const names = record.steps[0].replaces;
    if (!names?.length) return null;
    this.rowOf ||= new Map(this.heads.id.map((id, place) => [id, place]));
    return names.map((name) => this.rowOf.get(name)).filter((place) => place !== undefined);
  }

  chunkOf(place) {
    return this.page.chunks.find(([first, end]) => place >= first && place < end);
  }

  take(chunk, block) {
    block[chunk[3]].forEach((record, at) => this.records.set(chunk[0] + at, withCuts(record)));
    this.asked.add(chunk[0]);
    this.forget();
  }

  // A record whose block is unpacked already.
  atHand(place) {
    const chunk = this.chunkOf(place);
    const block = chunk && ready(chunk[2]);
    if (block) this.take(chunk, block);
    return this.records.get(place);
  }

  async load(place) {
    const chunk = this.chunkOf(place);
    if (!chunk || this.asked.has(chunk[0])) return;
    this.asked.add(chunk[0]);
    try {
      this.take(chunk, await json(chunk[2]));
    } catch (error) {
      for (let each = chunk[0]; each < chunk[1]; each += 1) this.records.set(each, { trouble: error.message });
    }
    this.list.again(...[...this.list.live.keys()].filter((each) => each >= chunk[0] && each < chunk[1]));
  }

  // Only what is near stays unpacked.
  forget() {
    if (this.records.size <= 3000) return;
    for (const each of [...this.records.keys()].slice(0, 1000)) this.records.delete(each);
    this.asked = new Set(this.page.chunks.filter(([from]) => this.records.has(from)).map(([from]) => from));
  }

  search() {
    if (this.searching) return this.searching.input.focus();
    const whole = { name: 'in this sample', samples: () => [{ sample: '', chunks: this.page.chunks }] };
    const { table, run } = this;
    this.searching = searchPanel({
      places: table.size > 1 ? [whole, { name: 'in all samples of the run', samples: () => everySample(table) }] : [whole],
      open: (sample, place) => {
        if (!sample || sample === this.page.key) this.go(place);
        else location.hash = '#/run/' + run.key + '/sample/' + encodeURIComponent(sample) + '/step/' + (place + 1);
      },
      close: () => {
        this.searching.panel.remove();
        this.searching = null;
      },
    });
    this.element.append(this.searching.panel);
    this.searching.input.focus();
  }

  toggleOutline() {
    const hidden = this.element.classList.toggle('no-outline');
    remember('outline', !hidden);
    this.outline.show(this.shown);
  }

  go(place) {
    if (place >= this.size) {
      if (this.page.rest) this.complete().then(() => place < this.size && this.go(place));
      return;
    }
    if (!this.shown.includes(place) || this.groups.look(place) !== 'row') {
      this.groups.reveal(place);
      if (!this.matches(place)) {
        Object.assign(this.filters, ALL);
        const bar = this.drawFilters();
        this.filterBar.replaceWith(bar);
        this.filterBar = bar;
      }
      this.filter();
      this.redraw();
    }
    this.wanted = performance.now() + 1200;
    this.list.scrollTo(place);
    this.mark(place);
    history.replaceState(null, '', this.address(place + 1));
  }

  mark(place) {
    this.list.element(this.current)?.classList.remove('current');
    this.current = place;
    this.list.element(place)?.classList.add('current');
    this.outline.at(place);
    this.axis?.at(place);
  }

  // Outline and axis follow the reader.
  follow() {
    if (this.following || performance.now() < (this.wanted || 0)) return;
    this.following = true;
    setTimeout(() => {
      this.following = false;
      if (!this.scroller.isConnected) return;
      const place = this.list.current();
      if (place !== undefined && place !== this.current) this.mark(place);
    }, 120);
  }

  move(by) {
    if (this.current < 0) return this.go(this.shown[by > 0 ? Math.min(1, this.shown.length - 1) : 0] ?? 0);
    const at = this.shown.findIndex((place) => place >= this.current);
    const next = this.shown[Math.max(0, Math.min(this.shown.length - 1, (at < 0 ? this.shown.length - 1 : at) + by))];
    if (next !== undefined) this.go(next);
  }

  nextError() {
    const next = this.heads.failed.findIndex((failed, place) => failed && place > this.current);
    if (next >= 0) this.go(next);
  }

  close() {
    this.list.close();
    this.outline.close();
  }
}

// A block holds so many rows or so many bytes: few rows are long ones.
function usualHeight(page) {
  const rows = page.chunks.length > 1 ? Math.max(...page.chunks.slice(0, 2).map(([first, end]) => end - first)) : 100;
  return 110 * Math.min(5, Math.max(1, 100 / rows));
}

function withoutThoughts(record) {
  const [step, ...answers] = record.steps;
  if (!(step.parts || []).some((part) => part.type === 'thinking')) return record;
  // Places of the other parts must stay, since calls and answers are paired by them.
  const parts = step.parts.map((part) => (part.type === 'thinking' ? { type: 'text', text: '' } : part));
  return { ...record, steps: [{ ...step, parts }, ...answers] };
}
