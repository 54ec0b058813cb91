/** A form of the API's own schemas: what an option does, its bounds, unit and preset. What is left alone is not sent. */
import type { Signal } from '@preact/signals';
import type { Schema } from '../api/catalog.ts';
import type { Told } from '../words/catalog.ts';
import { inOrder, optionDoes, optionLabel, optionTakes, t, title, valueName } from '../words/words.ts';

export interface Field {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
}
export type Values = Signal<Readonly<Record<string, string>>>;

/** Characters of a value in an address. */
const LONGEST_GIVEN = 200;
/** What an address says of these fields: never a password, and no value that the field does not have. */
export function takenFrom(query: URLSearchParams, fields: readonly (readonly [name: string, schema: Schema])[]): Record<string, string> {
  const given = fields.flatMap(([name, schema]) => {
    const value = query.get(name);
    const isTaken = value !== null && value !== '' && value.length <= LONGEST_GIVEN && name !== 'password';
    return isTaken && schema.enum?.map(String).includes(value) !== false ? [[name, value]] : [];
  });
  return Object.fromEntries(given) as Record<string, string>;
}

/** Longer ones are no label, characters. */
const LABEL = 34;

/** Where the description begins with what the option does. */
const LABELS: Readonly<Record<string, string>> = { password: 'Password', img_rotate: 'Rotation' };

/** What the field itself shows, and how a password may be written. */
const UNTOLD = /^one of|true, false|#rrggbb|bytes of UTF-8/;

interface Parts {
  readonly label: Told;
  readonly does: Told;
  readonly takes: Told;
}

const sentence = ({ text, lang }: Told): Told => ({ text: text.replace(/^\p{Ll}/u, (letter) => letter.toUpperCase()), lang });

/** The description's parts: a label, what the option does, and what it takes. The preset has a separate place. */
function partsOf(name: string, { description = '' }: Schema): Parts {
  const [means = '', rest = ''] = description.split(/\s?Takes /);
  const takes = (rest.split(/\. (?:Default|Has an effect|Required)/)[0] ?? '').replace(/\.$/, '').replace(/^(integer|number), /, '');
  const [first = '', ...more] = means.trim().split(/(?<=[.:])\s+/);
  const named = LABELS[name];
  const isLabel = named === undefined && first.length > 1 && first.length <= LABEL;
  const does = (isLabel ? more.join(' ') : means).trim();
  const translated = optionDoes(means.trim());
  const told = optionTakes(UNTOLD.test(takes) ? '' : takes);
  return {
    label: optionLabel(name, isLabel ? first.slice(0, -1) : (named ?? title(name.replace(/^(img|video|audio|mp3|wav|ocr)_/, '')))),
    does: sentence(translated === undefined ? { text: does, lang: 'en' } : { text: translated, lang: undefined }),
    // No name of the API is left in a sentence for people.
    takes: sentence({ ...told, text: told.text.replace('start_time', 'the start') }),
  };
}

/** Long lists are looked through by name. */
const LONG = 20;
function valuesOf(name: string, values: readonly (string | number)[]): readonly (readonly [value: string, shown: string])[] {
  const named = values.map((value) => [String(value), valueName(name, String(value))] as const);
  return named.length <= LONG
    ? named
    : named.toSorted(([one, first], [other, second]) => (one === 'auto' ? -1 : other === 'auto' ? 1 : inOrder(first, second)));
}

const IS_COLOUR = '^#[0-9a-fA-F]{6}$';

export function Options({ fields, values, prefix }: { fields: readonly Field[]; values: Values; prefix: string }) {
  const set = (name: string, value: string) => {
    const { [name]: _, ...rest } = values.value;
    values.value = value === '' ? rest : { ...rest, [name]: value };
  };
  if (fields.length === 0) return <p class="quiet">{t('noOptions')}</p>;
  return (
    <div class="options">
      {fields.map(({ name, schema, required }) => {
        const id = `${prefix}-${name}`;
        const { label, does, takes } = partsOf(name, schema);
        const value = values.value[name] ?? '';
        const common = { id, name, required, 'aria-describedby': `${id}-does` };
        const typed = (event: { currentTarget: { value: string } }) => set(name, event.currentTarget.value);
        const preset = schema.default === undefined || schema.default === '' ? undefined : String(schema.default);
        return (
          <div class={`option${schema.type === 'boolean' ? ' tick' : ''}`} key={name}>
            <label for={id}>
              <span lang={label.lang}>{label.text}</span>
              {required && <span class="required"> ({t('required')})</span>}
            </label>
            {schema.type === 'boolean' ? (
              <input
                {...common}
                required={false}
                type="checkbox"
                checked={(value || preset) === 'true'}
                onChange={(event) =>
                  set(name, String(event.currentTarget.checked) === (preset ?? 'false') ? '' : String(event.currentTarget.checked))
                }
              />
            ) : schema.enum !== undefined ? (
              <select {...common} value={value} onChange={typed}>
                <option value="">
                  {preset === undefined ? (required ? '' : t('preset')) : t('presetIs', { value: valueName(name, preset) })}
                </option>
                {valuesOf(name, schema.enum).map(([each, shown]) => (
                  <option key={each} value={each} selected={each === value}>
                    {shown}
                  </option>
                ))}
              </select>
            ) : schema.pattern === IS_COLOUR ? (
              <input {...common} type="color" value={value || preset || '#000000'} onInput={typed} />
            ) : schema.type === 'integer' || schema.type === 'number' ? (
              <input
                {...common}
                type="number"
                inputMode="decimal"
                min={schema.minimum}
                max={schema.maximum}
                step={schema.type === 'integer' ? 1 : 'any'}
                placeholder={preset ?? ''}
                value={value}
                onInput={typed}
              />
            ) : (
              <input
                {...common}
                {...(name === 'password'
                  ? ({ type: 'password', autocomplete: 'new-password' } as const)
                  : ({ type: 'text', autocomplete: 'off' } as const))}
                {...(schema.maxLength === undefined ? {} : { maxLength: schema.maxLength })}
                placeholder={preset ?? ''}
                value={value}
                onInput={typed}
              />
            )}
            <p id={`${id}-does`} class="does">
              <span lang={does.lang}>{does.text}</span>
              {takes.text !== '' && (
                <span class="takes" lang={takes.lang}>
                  {' '}
                  {takes.text}.
                </span>
              )}
            </p>
          </div>
        );
      })}
    </div>
  );
}
