// Who speaks: the agent itself, its sub-agents, and the branches of the conversation that were given up.
import { h } from './dom.js';
import { plural } from './words.js';

const PURPOSES = { grader: 'Grader', simulated_user: 'Simulated user', tool: 'Tool that asks a model' };

export function branchName(branch) {
  return branch.name || (branch.id ? branch.id.slice(0, 8) : 'sub-agent');
}

// The lane of a step: its agent. A user's words stand in the lane of the agent that they are for.
export function laneName(page, place) {
  const { heads, branches } = page;
  const branch = branches?.[heads.branch[place]];
  if (branch && branch.parent != null) return branchName(branch);
  if (heads.agent[place]) return heads.agent[place];
  page.mainLane ||= heads.agent.find((name, at) => name && heads.branch[at] === 0) || 'agent';
  return page.mainLane;
}

// Rows that belong together: those of a sub-agent, those of a branch that was given up, and notes in a row.
export class Groups {
  constructor(page) {
    const { heads } = page;
    this.page = page;
    this.size = heads.role.length;
    this.folded = new Set(); // branches
    this.hidden = new Set(); // first rows of abandoned parts
    this.open = new Set(); // first rows of notes
    this.noteLeader = new Int32Array(this.size).fill(-1);
    this.goneLeader = new Int32Array(this.size).fill(-1);
    for (let place = 0; place < this.size; place += 1) {
      const joins = (leaders) => place > 0 && leaders[place - 1] >= 0 && heads.branch[place] === heads.branch[place - 1];
      if (isNote(heads, place)) this.noteLeader[place] = joins(this.noteLeader) && heads.active[place] === heads.active[place - 1] ? this.noteLeader[place - 1] : place;
      if (!heads.active[place]) this.goneLeader[place] = joins(this.goneLeader) ? this.goneLeader[place - 1] : place;
    }
  }

  notes(leader) {
    let end = leader;
    while (end < this.size && this.noteLeader[end] === leader) end += 1;
    return end - leader;
  }

  // The nearest folded branch around a row; -1 where there is none.
  foldedBranch(place) {
    const { heads, branches } = this.page;
    let found = -1;
    for (let at = heads.branch[place]; at != null; at = branches?.[at]?.parent) if (this.folded.has(at)) found = at;
    return found;
  }

  // Whether a row is shown as itself, as the line that stands for its group, or not at all.
  look(place) {
    const branch = this.foldedBranch(place);
    if (branch >= 0) return this.page.branches[branch].first === place ? 'line' : '';
    const gone = this.goneLeader[place];
    if (gone >= 0 && this.hidden.has(gone)) return gone === place ? 'line' : '';
    const note = this.noteLeader[place];
    if (note >= 0 && !this.open.has(note)) return note === place ? 'notes' : '';
    return 'row';
  }

  reveal(place) {
    const { heads, branches } = this.page;
    for (let at = heads.branch[place]; at != null; at = branches?.[at]?.parent) this.folded.delete(at);
    this.hidden.delete(this.goneLeader[place]);
    this.open.add(this.noteLeader[place]);
  }
}

// Housekeeping of the recording program: no words of anybody, nothing that went wrong.
function isNote(heads, place) {
  return heads.kind[place] === 'note' && !heads.says[place] && !heads.failed[place] && !heads.tools[place].length;
}

export function noteLine(page, leader, size, open) {
  const names = new Map();
  for (let place = leader; place < leader + size; place += 1) names.set(page.heads.brief[place] || 'note', (names.get(page.heads.brief[place] || 'note') || 0) + 1);
  const words = [...names].map(([name, times]) => (times > 1 ? name + ' ×' + times : name)).join(', ');
  return h('button.note-line', { type: 'button', id: 'step-' + (leader + 1), onclick: open, title: 'Show what the recording program noted here' }, plural(size, 'note'), h('span', {}, words));
}

function bar(kind, folded, toggle, ...words) {
  return h('div.group-bar', { class: kind }, h('button.fold-toggle', { type: 'button', 'aria-expanded': String(!folded), 'aria-label': folded ? 'Show these steps' : 'Fold these steps', onclick: toggle }), words);
}

// The line above a sub-agent's first step.
export function branchBar(page, index, groups, { go, changed }) {
  const branch = page.branches[index];
  const { heads } = page;
  let steps = 0;
  let errors = 0;
  heads.branch.forEach((at, place) => {
    steps += at === index;
    errors += at === index && heads.failed[place];
  });
  const facts = [plural(steps, 'step'), errors ? plural(errors, 'error') : ''].filter(Boolean).join(', ');
  const toggle = () => {
    if (!groups.folded.delete(index)) groups.folded.add(index);
    changed(branch.first);
  };
  return bar('of-agent depth-' + Math.min(branch.depth, 5), groups.folded.has(index), toggle, h('span', {}, PURPOSES[branch.purpose] || 'Sub-agent'), h('b', {}, branchName(branch)), h('span.quiet', {}, facts),
    branch.outcome?.status ? h('span.status', { class: branch.outcome.status }, branch.outcome.status) : null,
    branch.caller != null ? h('span.quiet', {}, 'started by ', h('button.link', { type: 'button', onclick: () => go(branch.caller) }, 'step ' + (branch.caller + 1))) : null);
}

// The line above steps that were given up.
export function goneBar(page, leader, groups, { changed }) {
  let end = leader;
  while (end < groups.size && groups.goneLeader[end] === leader) end += 1;
  const toggle = () => {
    if (!groups.hidden.delete(leader)) groups.hidden.add(leader);
    changed(leader);
  };
  return bar('of-gone depth-' + Math.min(page.heads.depth[leader], 5), groups.hidden.has(leader), toggle, h('b', {}, 'Abandoned'), h('span.quiet', {}, plural(end - leader, 'step') + ' of a branch that was given up. Not counted.'));
}
