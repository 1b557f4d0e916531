import * as Type from 'typebox';
import { LABEL_VALUE_LENGTH, QUALIFIED_NAME_LENGTH } from '../kubernetes/names.ts';
import { Nullish } from './object-schema.ts';

/** The tolerations of a pod template; null counts as none. @param text the schema of a text of at most that many characters */
export const tolerationList = (text: (maxLength: number) => Type.TString) =>
  Nullish(
    Type.Array(
      Type.Object({
        key: Nullish(text(QUALIFIED_NAME_LENGTH)),
        operator: Nullish(text(LABEL_VALUE_LENGTH)),
        value: Nullish(text(LABEL_VALUE_LENGTH)),
        effect: Nullish(text(LABEL_VALUE_LENGTH)),
        tolerationSeconds: Nullish(Type.Number()),
      }),
    ),
  );
