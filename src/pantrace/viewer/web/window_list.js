// A list of any length of which only what is in sight is in the document.

const AROUND = 500; // pixels above and below that are ready before they are seen
const ROWS_AROUND = 5;
const LIVE = 60;

export class WindowList {
  // draw(item) gives the element of an item; estimate is the height of one that was never seen.
  constructor(scroller, { draw, estimate, fixed = false }) {
    this.scroller = scroller;
    this.draw = draw;
    this.estimate = estimate;
    this.fixed = fixed;
    this.heights = new Map();
    this.live = new Map();
    this.items = [];
    this.above = document.createElement('div');
    this.body = document.createElement('div');
    this.below = document.createElement('div');
    this.body.className = 'window';
    this.host = document.createElement('div');
    this.host.append(this.above, this.body, this.below);
    this.waiting = false;
    this.onscroll = () => this.soon();
    scroller.addEventListener('scroll', this.onscroll, { passive: true });
    this.onhand = () => { this.pinned = null; };
    for (const kind of ['wheel', 'touchmove', 'pointerdown']) scroller.addEventListener(kind, this.onhand, { passive: true });
    this.observer = new ResizeObserver(() => this.soon());
    this.observer.observe(scroller);
    if (!fixed) this.sizes = new ResizeObserver(() => this.soon());
  }

  close() {
    this.scroller.removeEventListener('scroll', this.onscroll);
    for (const kind of ['wheel', 'touchmove', 'pointerdown']) this.scroller.removeEventListener(kind, this.onhand);
    this.observer.disconnect();
    this.sizes?.disconnect();
    this.live.clear();
  }

  show(items) {
    this.items = items;
    this.placeOf = new Map(items.map((item, place) => [item, place]));
    this.sums = null;
    for (const [item, element] of this.live) {
      if (!this.placeOf.has(item)) this.drop(item, element);
    }
    this.update();
  }

  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.host.isConnected) this.update();
    });
  }

  drop(item, element) {
    this.sizes?.unobserve(element);
    element.remove();
    this.live.delete(item);
  }

  top(place) {
    if (this.fixed) return place * this.estimate;
    if (!this.sums) {
      this.sums = new Float64Array(this.items.length + 1);
      this.items.forEach((item, at) => {
        this.sums[at + 1] = this.sums[at] + (this.heights.get(item) ?? this.estimate);
      });
    }
    return this.sums[place];
  }

  placeAt(offset) {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.top(middle + 1) <= offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  offset() {
    return this.host.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top + this.scroller.scrollTop;
  }

  // The first element in sight and where it stands: it must not move when others above it turn out taller.
  anchor() {
    if (this.pinned && performance.now() < this.pinned.until && this.placeOf?.has(this.pinned.item)) return this.pinned;
    this.pinned = null;
    if (!this.live.size) return null;
    const edge = this.scroller.getBoundingClientRect().top;
    for (const [item, element] of this.live) {
      const box = element.getBoundingClientRect();
      if (box.bottom > edge + 1) return { item, at: box.top - edge };
    }
    return null;
  }

  update(anchor = this.fixed ? null : this.anchor()) {
    // Out of the document everything is 0 pixels high, and nothing can be placed.
    if (!this.host.isConnected || !this.scroller.clientHeight) return;
    for (let round = 0; round < 4; round += 1) {
      this.hold(anchor);
      this.place();
      if (this.fixed || !this.measure()) return;
    }
    this.hold(anchor);
  }

  hold(anchor) {
    const place = anchor && this.placeOf.get(anchor.item);
    if (place == null) return;
    const wanted = this.offset() + this.top(place) - anchor.at;
    if (Math.abs(this.scroller.scrollTop - wanted) > 1) this.scroller.scrollTop = wanted;
  }

  place() {
    const from = this.scroller.scrollTop - this.offset();
    const height = this.scroller.clientHeight;
    // Tall rows are dear to lay out: no more of them than the eye can reach. Of small ones a few more.
    const around = Math.min(AROUND, ROWS_AROUND * this.estimate);
    const first = this.placeAt(Math.max(0, from - around));
    const last = Math.min(this.items.length, this.placeAt(Math.max(0, from + height + around)) + 1, first + LIVE);
    const wanted = this.items.slice(first, last);
    const set = new Set(wanted);
    for (const [item, element] of this.live) if (!set.has(item)) this.drop(item, element);
    let before = this.body.firstChild;
    const live = new Map();
    for (const item of wanted) {
      let element = this.live.get(item);
      if (!element) {
        element = document.createElement('div');
        element.className = 'slot';
        element.append(this.draw(item));
        this.body.insertBefore(element, before);
        this.sizes?.observe(element);
      } else if (element === before) {
        before = before.nextSibling;
      } else {
        this.body.insertBefore(element, before);
      }
      live.set(item, element);
    }
    this.live = live;
    this.above.style.height = this.top(first) + 'px';
    this.below.style.height = Math.max(0, this.top(this.items.length) - this.top(last)) + 'px';
  }

  measure() {
    let changed = false;
    for (const [item, element] of this.live) {
      const height = element.getBoundingClientRect().height;
      if (Math.abs((this.heights.get(item) ?? this.estimate) - height) > 0.5) {
        this.heights.set(item, height);
        changed = true;
      }
    }
    if (changed) this.sums = null;
    return changed;
  }

  // Draw items again, since what they show has arrived or changed.
  again(...items) {
    const anchor = this.fixed ? null : this.anchor();
    for (const item of items) {
      const slot = this.live.get(item);
      if (slot) slot.replaceChildren(this.draw(item));
    }
    this.update(anchor);
  }

  element(item) {
    return this.live.get(item)?.querySelector('.step');
  }

  scrollTo(item, margin = 12) {
    if (!this.placeOf.has(item)) return false;
    // What loads meanwhile must not push it away.
    this.pinned = { item, at: margin, until: performance.now() + 1500 };
    this.update(this.pinned);
    if (this.fixed) {
      this.hold(this.pinned);
      this.place();
    }
    return true;
  }

  inSight(item) {
    const element = this.live.get(item);
    if (!element) return false;
    const box = element.getBoundingClientRect();
    const frame = this.scroller.getBoundingClientRect();
    return box.bottom > frame.top && box.top < frame.bottom;
  }

  // The item at the top of what is in sight.
  current(margin = 40) {
    const edge = this.scroller.getBoundingClientRect().top + margin;
    for (const [item, element] of this.live) if (element.getBoundingClientRect().bottom > edge) return item;
    return this.items[this.items.length - 1];
  }
}
