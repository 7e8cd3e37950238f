// Package disk is how all of this module changes files: a file is there whole or as it was ([WriteFile]), files that
// belong together are there all or none ([Folder]), and who reads several of them holds them meanwhile ([Hold]). A
// process that is killed at any moment leaves nothing that the next does not finish or clear. Files are opened to be
// read by package data.
//
// What a user can get wrong is a *[data.InputError]. Every change goes through a [Disk], so that a test can let each fail.
package disk
