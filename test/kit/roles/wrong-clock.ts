/** Loaded before a process's own code (`node --import`): its wall clock is wrong by CLOCK_SHIFT_MS. */
const shift = Number(process.env['CLOCK_SHIFT_MS'] ?? 0);
const Right = Date;

class Wrong extends Right {
  constructor(...given: unknown[]) {
    super(...((given.length === 0 ? [Right.now() + shift] : given) as [number]));
  }
  static override now(): number {
    return Right.now() + shift;
  }
}
globalThis.Date = Wrong as DateConstructor;
