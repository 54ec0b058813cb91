/** Which parts of a picture a model has to see to fill its holes: one around each, so that several small ones are not filled as one large one. */

/** The right and the bottom side are not part of it. */
export interface HoleBounds {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** Holes that are nearer than this are filled together, px. */
const NEAR = 32;
/** Each takes a run of the model. */
const MOST = 12;
/** Side of what a model sees, px, where the hole is not larger than half of it. */
const SEEN = 512;

/** @param hole 1 for each pixel of it @returns the bounds of each hole, a few at most */
export function holesOf(hole: Uint8Array, width: number, height: number): readonly HoleBounds[] {
  const labels = new Uint8Array(hole);
  const stack: number[] = [];
  let found: HoleBounds[] = [];
  for (let start = 0; start < labels.length; start++) {
    if (labels[start] === 0) continue;
    let [left, top, right, bottom] = [width, height, 0, 0];
    stack.push(start);
    labels[start] = 0;
    while (stack.length > 0) {
      const at = stack.pop() as number;
      const [x, y] = [at % width, Math.floor(at / width)];
      [left, top, right, bottom] = [Math.min(left, x), Math.min(top, y), Math.max(right, x + 1), Math.max(bottom, y + 1)];
      for (const [next, isThere] of [
        [at - 1, x > 0],
        [at + 1, x + 1 < width],
        [at - width, y > 0],
        [at + width, y + 1 < height],
      ] as const)
        if (isThere && labels[next] === 1) {
          labels[next] = 0;
          stack.push(next);
        }
    }
    found = joined([...found, { left, top, right, bottom }], NEAR);
    // Dust all over is one hole.
    if (found.length > MOST) found = [unionOf(found)];
  }
  return found;
}

/** The last one, and whatever is near to it, become one. */
function joined(areas: readonly HoleBounds[], near: number): HoleBounds[] {
  let last = areas.at(-1) as HoleBounds;
  let others = areas.slice(0, -1);
  for (;;) {
    const touching = others.filter((each) => isNear(each, last, near));
    if (touching.length === 0) return [...others, last];
    last = unionOf([...touching, last]);
    others = others.filter((each) => !touching.includes(each));
  }
}

const isNear = (a: HoleBounds, b: HoleBounds, near: number): boolean =>
  a.left < b.right + near && b.left < a.right + near && a.top < b.bottom + near && b.top < a.bottom + near;

const unionOf = (areas: readonly HoleBounds[]): HoleBounds => ({
  left: Math.min(...areas.map(({ left }) => left)),
  top: Math.min(...areas.map(({ top }) => top)),
  right: Math.max(...areas.map(({ right }) => right)),
  bottom: Math.max(...areas.map(({ bottom }) => bottom)),
});

/** What the model sees of a hole's surroundings: a square of at least `SEEN` pixels, twice as large as the hole, as far as the picture goes. */
export function seenAround({ left, top, right, bottom }: HoleBounds, width: number, height: number): HoleBounds {
  const side = Math.max(SEEN, 2 * Math.max(right - left, bottom - top));
  const along = (from: number, to: number, length: number): readonly [number, number] => {
    const kept = Math.min(side, length);
    const first = Math.max(0, Math.min(length - kept, Math.round((from + to - kept) / 2)));
    return [first, first + kept];
  };
  const [x, y] = [along(left, right, width), along(top, bottom, height)];
  return { left: x[0], top: y[0], right: x[1], bottom: y[1] };
}
