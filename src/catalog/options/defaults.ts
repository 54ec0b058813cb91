/** Defaults of a conversion's options. Generated clients send each one that the document names: a default that is sent asks for nothing. */
import { formOptionNames, type OptionName, type Options, optionNames, optionSchemas } from './options.ts';
import { optionTexts } from './texts.ts';

const DEFAULTS: ReadonlyMap<string, string> = new Map(
  formOptionNames.flatMap((name) => {
    const { preset } = optionTexts[name];
    return preset === undefined ? [] : [[name, JSON.stringify(optionSchemas[name].parse(String(preset)))]];
  }),
);

/** @param value as `readOptions` returns it */
export const isDefault = (name: OptionName, value: unknown): boolean => DEFAULTS.get(name) === JSON.stringify(value);

/** The options that decide the route: those that ask for something. */
export const askedOptions = (options: Options): readonly OptionName[] =>
  optionNames.filter((name) => options[name] !== undefined && (asksAnyway(name) || !isDefault(name, options[name])));

/** Whether the option, sent with its default, is not the same as the option not sent: a language asks for a text layer in a PDF. */
const asksAnyway = (name: OptionName): boolean =>
  Object.hasOwn(optionTexts, name) && optionTexts[name as keyof typeof optionTexts].asks === true;
