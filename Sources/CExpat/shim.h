// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// libxml2: the streaming reader only.

#ifndef CXML2_SHIM_H
#define CXML2_SHIM_H

// libxml2's headers would bring ICU's, which a module cannot hold; nothing here needs them.
#include <libxml/xmlversion.h>
#undef LIBXML_ICU_ENABLED

#include <libxml/parser.h>
#include <libxml/xmlreader.h>

// The option bits are an anonymous enumeration in C, so the importer gives them no usable type.
// No network, no output on standard error, CDATA as text; entities are not expanded and huge documents not allowed.
static inline int cxml2_reader_options(void) {
    return XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NOCDATA;
}

#endif
