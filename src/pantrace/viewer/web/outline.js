// The outline: one line for each step, turns and sub-agents told apart.
import { h } from './dom.js';
import { WindowList } from './window_list.js';
import { duration } from './words.js';

export function outline(page, go) {
  const { heads } = page;
  const scroller = h('nav.outline', { 'aria-label': 'Outline' });
  let current = -1;
  const list = new WindowList(scroller, {
    estimate: 28,
    fixed: true,
    draw: (place) => {
      const label = heads.kind[place] === 'compaction' ? 'context compacted' : heads.tools[place].length ? heads.tools[place].join(', ') : heads.brief[place] || heads.kind[place];
      const spent = heads.at[place] != null && heads.ended[place] != null ? heads.ended[place] - heads.at[place] : null;
      return h('button.entry', {
        type: 'button',
        class: [heads.role[place], heads.tools[place].length ? 'calls' : '', heads.failed[place] ? 'failed' : '', heads.active[place] ? '' : 'abandoned', heads.kind[place] === 'message' ? '' : 'kind-' + heads.kind[place], place === current ? 'current' : ''].join(' '),
        'aria-current': place === current ? 'step' : null,
        style: { paddingLeft: 10 + Math.min(heads.depth[place], 6) * 14 + 'px' },
        title: heads.brief[place],
        onclick: () => go(place),
      }, h('span.place', {}, place + 1), h('span.dot'), h('span.label', {}, label), spent > 1 ? h('span.spent', {}, duration(spent)) : null);
    },
  });
  scroller.append(list.host);
  return {
    element: scroller,
    show: (places) => list.show(places),
    at: (place) => {
      const before = current;
      current = place;
      list.again(before, place);
      if (!list.inSight(place) && list.placeOf.has(place)) list.scrollTo(place, scroller.clientHeight / 3);
    },
    close: () => list.close(),
  };
}
