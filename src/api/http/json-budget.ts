/** Limits what a JSON text may cost, in one pass over its bytes as they arrive: parsing and validating cost time for each key. */
import { Failure } from '../../errors.ts';

export interface JsonBounds {
  /** Most bytes of the text, not counting the strings that `carriers` allows. */
  readonly bytes: number;
  /** The failure for a longer text. */
  readonly tooLong: (received: number) => Failure;
  /** Whether strings in `params.arguments` of a `tools/call` may be longer: they may hold files. */
  readonly carriers: boolean;
}

/** Objects and arrays within each other. */
const MAX_DEPTH = 32;
/** Keys and items of all objects and arrays together. */
const MAX_ITEMS = 4_000;
const MAX_KEY_BYTES = 1_024;
/** Length of a JSON-RPC method's name. */
const MAX_METHOD_BYTES = 256;
/** Escapes (`\n`) in strings: each costs the parser as much as a few dozen plain characters. Neither base64 nor prose has as many. */
const MAX_ESCAPES = 1_000_000;

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [ARRAY, ARRAY_END, OBJECT, OBJECT_END] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Keys that locate a string in a JSON-RPC message; a key that is written with escapes is not recognised. */
const OTHER = 0;
const [PARAMS, ARGUMENTS, METHOD] = [1, 2, 3];
const NAMES = new Map([
  ['params', PARAMS],
  ['arguments', ARGUMENTS],
  ['method', METHOD],
]);
const CALL = 'tools/call';
/** How much of a string is kept, to be compared with those names. */
const KEPT_BYTES = 12;

/** What kind of string is being skipped. */
const [NO_TEXT, KEY, VALUE, METHOD_NAME, CARRIER] = [0, 1, 2, 3, 4];

/** The parser decides whether the text is valid JSON. */
export class JsonBudget {
  readonly #bounds: JsonBounds;
  #bytes = 0;
  #depth = 0;
  #items = 0;
  #escapes = 0;
  /** By depth, from 1 on. */
  readonly #isObject = new Uint8Array(MAX_DEPTH + 1);
  /** The last key at each depth. */
  readonly #keys = new Uint8Array(MAX_DEPTH + 1);
  /** How deep a message begins: 1, or 2 in a batch. */
  #messageDepth = 0;
  #awaitsKey = false;
  #text = NO_TEXT;
  #textBytes = 0;
  #isEscaped = false;
  readonly #kept = Buffer.alloc(KEPT_BYTES);
  /** Bytes of this message in strings that may be files. */
  #carried = 0;
  #hasMethod = false;
  #isCall = false;
  /** The same for messages that have ended. */
  #carriedByCalls = 0;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** @throws Failure `BAD_REQUEST`, and `tooLong`, as soon as a bound is passed */
  take(block: Uint8Array): void {
    this.#bytes += block.length;
    for (let at = 0; at < block.length; at++) {
      if (this.#text === NO_TEXT) this.#outside(block[at] ?? 0);
      else at = this.#inside(block, at);
    }
    if (this.#spent() > this.#bounds.bytes) throw this.#bounds.tooLong(this.#bytes);
  }

  /** Bytes that count. Strings that may be files do not count in a tool call; whether a message is one may only be known when `method` follows them. */
  #spent(): number {
    return this.#bytes - this.#carriedByCalls - (this.#hasMethod && !this.#isCall ? 0 : this.#carried);
  }

  #outside(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#text = this.#awaitsKey ? KEY : this.#kindOfValue();
        this.#textBytes = 0;
        return;
      case OBJECT:
      case ARRAY:
        this.#open(byte === OBJECT);
        return;
      case OBJECT_END:
      case ARRAY_END:
        if (this.#depth === this.#messageDepth) this.#endMessage();
        this.#depth = Math.max(0, this.#depth - 1);
        this.#awaitsKey = false;
        return;
      case COMMA:
        this.#count();
        this.#awaitsKey = this.#isObject[this.#depth] === 1;
        return;
      case COLON:
        this.#awaitsKey = false;
    }
  }

  #open(isObject: boolean): void {
    this.#count();
    if (++this.#depth > MAX_DEPTH) throw exceeded('depth', MAX_DEPTH, 'is nested more than', 'levels deep');
    if (this.#messageDepth === 0) this.#messageDepth = isObject ? 1 : 2;
    this.#isObject[this.#depth] = isObject ? 1 : 0;
    this.#keys[this.#depth] = OTHER;
    this.#awaitsKey = isObject;
  }

  #count(): void {
    if (++this.#items > MAX_ITEMS) throw exceeded('items', MAX_ITEMS, 'has more than', 'keys and items');
  }

  /** @returns where the text ends in this block, or the block's last place */
  #inside(block: Uint8Array, from: number): number {
    let at = from;
    for (; at < block.length; at++) {
      const byte = block[at];
      if (this.#isEscaped) this.#isEscaped = false;
      else if (byte === BACKSLASH) this.#escape();
      else if (byte === QUOTE) break;
    }
    this.#pass(block, from, at);
    if (at < block.length) this.#endText();
    return at;
  }

  #escape(): void {
    this.#isEscaped = true;
    if (++this.#escapes > MAX_ESCAPES) throw exceeded('escapes', MAX_ESCAPES, 'has more than', 'escaped characters');
  }

  #pass(block: Uint8Array, from: number, to: number): void {
    const before = this.#textBytes;
    this.#textBytes += to - from;
    switch (this.#text) {
      case CARRIER:
        this.#carried += to - from;
        return;
      case KEY:
        if (this.#textBytes > MAX_KEY_BYTES) throw exceeded('key', MAX_KEY_BYTES, 'has a key of more than', 'bytes');
        break;
      case METHOD_NAME:
        if (this.#textBytes > MAX_METHOD_BYTES) throw exceeded('method', MAX_METHOD_BYTES, 'has a method of more than', 'bytes');
    }
    if (before < KEPT_BYTES) this.#kept.set(block.subarray(from, Math.min(to, from + KEPT_BYTES - before)), before);
  }

  #endText(): void {
    const kind = this.#text;
    this.#text = NO_TEXT;
    if (kind !== KEY && kind !== METHOD_NAME) return;
    const name = this.#textBytes > KEPT_BYTES ? '' : this.#kept.toString('latin1', 0, this.#textBytes);
    if (kind === KEY) this.#keys[this.#depth] = NAMES.get(name) ?? OTHER;
    else [this.#hasMethod, this.#isCall] = [true, name === CALL];
  }

  #kindOfValue(): number {
    const message = this.#messageDepth;
    if (this.#depth === message && this.#keys[message] === METHOD) return METHOD_NAME;
    // An argument, or an item of a list that is one.
    const isArgument = this.#depth === message + 2 || (this.#depth === message + 3 && this.#isObject[this.#depth] === 0);
    const isCarrier = isArgument && this.#keys[message] === PARAMS && this.#keys[message + 1] === ARGUMENTS;
    return isCarrier && this.#bounds.carriers ? CARRIER : VALUE;
  }

  #endMessage(): void {
    if (this.#isCall) this.#carriedByCalls += this.#carried;
    this.#carried = 0;
    [this.#hasMethod, this.#isCall] = [false, false];
  }
}

/** A text that is in memory already. @throws Failure `BAD_REQUEST` · SyntaxError */
export function parseWithin(text: string, bytes: number): unknown {
  const tooLong = () => exceeded('bytes', bytes, 'has more than', 'bytes');
  const budget = new JsonBudget({ bytes, tooLong, carriers: false });
  for (let at = 0; at < text.length; at += SLICE) budget.take(Buffer.from(text.slice(at, at + SLICE)));
  return JSON.parse(text);
}

const SLICE = 64 * 1024;

function exceeded(limit: string, max: number, has: string, what: string): Failure {
  return new Failure('BAD_REQUEST', { says: `The JSON ${has} ${max} ${what}.`, details: { limit, max } });
}
