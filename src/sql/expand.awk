# expand.awk - the SQL fragments with each block between "--@each" and "--@end" repeated, and fastclust for @extschema@: the extension makes its own
# schemas, so that they go with it.
#
#     --@each @a@ @b@ = a1 b1; a2 b2           @a@ and @b@ stand for a1 and b1, then for a2 and b2; ~ is a space, a value that is left out is empty
{ gsub("@extschema@", "fastclust") }
/^--@each/ {
	head = substr($0, 9)
	inside = 1
	block = ""
	next
}
/^--@end/ {
	names = split(substr(head, 1, index(head, "=") - 1), name, " ")
	rows = split(substr(head, index(head, "=") + 1), row, ";")
	for (i = 1; i <= rows; i++)
	{
		text = block
		split(row[i], value, " ")
		for (n = 1; n <= names; n++)
		{
			gsub("~", " ", value[n])
			gsub(name[n], value[n], text)
		}
		printf "%s", text
	}
	inside = 0
	next
}
inside { block = block $0 "\n"; next }
{ print }
