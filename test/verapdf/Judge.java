import java.io.FileInputStream;
import java.util.LinkedHashSet;
import java.util.Set;
import org.verapdf.gf.foundry.VeraGreenfieldFoundryProvider;
import org.verapdf.pdfa.Foundries;
import org.verapdf.pdfa.PDFAParser;
import org.verapdf.pdfa.flavours.PDFAFlavour;
import org.verapdf.pdfa.results.TestAssertion;
import org.verapdf.pdfa.results.ValidationResult;

/** Prints a line for each PDF that is named: the clauses of PDF/A-2b that it breaks, or "conforms". */
public class Judge {
  public static void main(String[] paths) throws Exception {
    VeraGreenfieldFoundryProvider.initialise();
    for (String path : paths) {
      PDFAFlavour flavour = PDFAFlavour.PDFA_2_B;
      try (PDFAParser parser = Foundries.defaultInstance().createParser(new FileInputStream(path), flavour)) {
        ValidationResult result = Foundries.defaultInstance().createValidator(flavour, false).validate(parser);
        Set<String> broken = new LinkedHashSet<>();
        for (TestAssertion each : result.getTestAssertions()) {
          if (each.getStatus() == TestAssertion.Status.FAILED) broken.add(each.getRuleId().getClause() + " " + each.getMessage());
        }
        System.out.println(result.isCompliant() ? "conforms" : String.join("; ", broken));
      }
    }
  }
}
