/** Members of a list are dragged to another place, with a mouse, a finger or a pen. Keys have their own ways: this is beside them. */

/** Pixels that a pointer moves before it drags: less is a press. */
const SLACK = 6;

/**
 * Called when a pointer comes down on a part of a member by which it is dragged. Each member has its place as `data-place`.
 * @param move called as soon as the pointer is over another member
 */
export function dragFrom(event: PointerEvent, list: HTMLElement | null, place: number, move: (from: number, to: number) => void): void {
  if (event.button !== 0 || list === null) return;
  const [x, y] = [event.clientX, event.clientY];
  let [at, isDragging] = [place, false];
  const moved = (now: PointerEvent) => {
    if (now.pointerId !== event.pointerId) return;
    isDragging ||= Math.hypot(now.clientX - x, now.clientY - y) > SLACK;
    if (!isDragging) return;
    list.classList.add('dragging');
    const over = document.elementFromPoint(now.clientX, now.clientY)?.closest<HTMLElement>('[data-place]');
    const to = over !== null && over !== undefined && list.contains(over) ? Number(over.dataset['place']) : at;
    if (to === at) return;
    move(at, to);
    at = to;
  };
  const ended = (last: Event) => {
    if (last instanceof PointerEvent && last.pointerId !== event.pointerId) return;
    list.classList.remove('dragging');
    removeEventListener('pointermove', moved);
    for (const name of ['pointerup', 'pointercancel', 'blur']) removeEventListener(name, ended);
  };
  addEventListener('pointermove', moved);
  for (const name of ['pointerup', 'pointercancel', 'blur']) addEventListener(name, ended);
}

export const movedTo = <Member>(list: readonly Member[], from: number, to: number): readonly Member[] =>
  list.toSpliced(from, 1).toSpliced(to, 0, ...list.slice(from, from + 1));
