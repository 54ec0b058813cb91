/** Fields of a form whose state stands in their settings alone (ECMA-376, part 1, 17.16.5.21 and 22): check boxes, and lists of which one entry is chosen. */

interface Field {
  /** As XML has it. */
  value: string;
  /** Whether what follows is the field's result, and has a text itself. */
  isResult: boolean;
  isShown: boolean;
  /** By the person who filled it in. */
  chosen?: number;
  byDefault: number;
  readonly entries: string[];
}

const TYPE = /\sw:fldCharType="(\w{1,20})"/;
const VALUE = /\sw:val="([^"]*)"/;
const [ON, OFF] = ['☒', '☐'];

export class FormFields {
  readonly #fields: Field[] = [];
  #ended = '';

  /** @param tag its beginning @param around name of the element that it is in */
  open(name: string, tag: string, around: string | undefined): void {
    const field = this.#fields.at(-1);
    const value = VALUE.exec(tag)?.[1];
    if (name === 'w:fldChar') this.#mark(TYPE.exec(tag)?.[1], field);
    else if (field === undefined) return;
    else if (name === 'w:t') field.isShown ||= field.isResult;
    else if (name === 'w:checkBox') field.value = OFF;
    else if (around === 'w:checkBox' && (name === 'w:checked' || name === 'w:default'))
      field.value = /^(?:0|false|off)$/.test(value ?? '') ? OFF : ON;
    else if (around === 'w:ddList' && name === 'w:result') field.chosen = Number(value);
    else if (around === 'w:ddList' && name === 'w:default') field.byDefault = Number(value);
    else if (around === 'w:ddList' && name === 'w:listEntry') field.entries.push(value ?? '');
  }

  /** @returns what the field has that ended since, as XML; empty where its text says it, or where none ended */
  take(): string {
    const ended = this.#ended;
    this.#ended = '';
    return ended;
  }

  #mark(type: string | undefined, field: Field | undefined): void {
    if (type === 'begin') this.#fields.push({ value: '', isResult: false, isShown: false, byDefault: 0, entries: [] });
    else if (type === 'separate' && field !== undefined) field.isResult = true;
    else if (type === 'end' && this.#fields.pop() !== undefined && field?.isShown === false)
      this.#ended += field.value || (field.entries[field.chosen ?? field.byDefault] ?? '');
  }
}
