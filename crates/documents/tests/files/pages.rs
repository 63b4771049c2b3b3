//! PDF files, written by hand.

/// A PDF of these objects, numbered from 1; the first is the catalog, the last the information.
pub(crate) fn pdf(objects: &[String]) -> Vec<u8> {
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut places = Vec::new();
    for (n, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", n + 1).bytes());
    }
    let table = file.len();
    let count = objects.len() + 1;
    file.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let trailer = format!(
        "trailer\n<< /Size {count} /Root 1 0 R /Info {} 0 R /ID [<6b656e6b656e6b65> <6b656e6b656e6b65>] >>\nstartxref\n{table}\n%%EOF\n",
        objects.len()
    );
    file.extend(trailer.bytes());
    file
}

pub(crate) fn stream(entries: &str, content: &str) -> String {
    format!(
        "<< {entries} /Length {} >>\nstream\n{content}\nendstream",
        content.len()
    )
}

/// A PDF of two pages with these contents.
pub(crate) fn two_pages(first: &str, second: &str) -> Vec<u8> {
    let map = "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n\
               /CMapName /X def\n/CMapType 2 def\n\
               1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n\
               2 beginbfchar\n<0001> <8A9E>\n<0002> <00660069>\nendbfchar\n\
               1 beginbfrange\n<0010> <0012> <0061>\nendbfrange\n\
               endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n";
    pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 /Resources << /Font << /F 7 0 R /U 8 0 R >> /XObject << /Form 11 0 R /Loop 12 0 R >> >> >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents [6 0 R] >>".to_owned(),
        stream("", first),
        stream("", second),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [9 0 R] /ToUnicode 10 0 R >>".to_owned(),
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 500 /W [1 [1000] 16 18 400] >>".to_owned(),
        stream("", map),
        stream("/Type /XObject /Subtype /Form /Matrix [1 0 0 1 0 -100]", "BT /F 10 Tf (in a form) Tj ET"),
        stream("/Type /XObject /Subtype /Form", "BT /F 10 Tf (again ) Tj ET /Loop Do /Loop Do"),
        "<< /Title (A  \\(PDF\\)) /Author <FEFF00C9> /CreationDate (D:20200102030405Z) >>".to_owned(),
    ])
}

/// A PDF of pages with these contents, whose font `F` is Helvetica.
pub(crate) fn pages(contents: &[String]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len())
        .map(|index| format!("{} 0 R", 4 + 2 * index))
        .collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!(
            "<< /Type /Pages /Kids [{}] /Count {} /Resources << /Font << /F 3 0 R >> >> >>",
            kids.join(" "),
            contents.len()
        ),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    ];
    for (index, content) in contents.iter().enumerate() {
        let number = 5 + 2 * index;
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /Contents {number} 0 R >>"
        ));
        objects.push(stream("", content));
    }
    objects.push("<< >>".to_owned());
    pdf(&objects)
}
